#!/bin/sh
# manual.sh SURETY FOLDER: man pages of every command and the completion for bash, written by the command itself.
set -eu
surety=$1
mkdir -p "$2"
cd "$2"
rm -f -- *.1
for name in $("$surety" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vx help); do
    "$surety" help --man "$name" >"surety-$name.1"
done
"$surety" help --completion >completion
"$surety" help --man >surety.1
