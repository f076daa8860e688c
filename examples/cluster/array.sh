#!/bin/bash
# A certificate whose examples are counted by an array of jobs (Slurm):
#
#   jid=$(sbatch --parsable --array=1-16 examples/cluster/array.sh model.safetensors parts --attack pgdu --looks 1)
#   sbatch --dependency=afterok:$jid --wrap "surety merge parts/*.json --out c.json"
#
# Jobs that failed are sent again, with the number of all parts, which Slurm no longer knows:
#
#   PARTS=16 sbatch --array=7,9 examples/cluster/array.sh model.safetensors parts --attack pgdu --looks 1
#
# $1: the model, $2: a folder for the parts, then options of certify. Every job must see the same files.
#SBATCH --cpus-per-task=4
set -euo pipefail
model=$1 folder=$2
shift 2
mkdir -p "$folder"
exec surety certify "$model" "$@" --threads "${SLURM_CPUS_PER_TASK:-0}" \
    --part "$SLURM_ARRAY_TASK_ID/${PARTS:-$SLURM_ARRAY_TASK_COUNT}" --part-file "$folder/$SLURM_ARRAY_TASK_ID.json"
