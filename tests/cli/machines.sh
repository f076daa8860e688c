#!/bin/bash
# machines.sh N WORDS..: runs the words in a network of its own, with N further machines at 10.99.0.11, 10.99.0.12, ..
# machines.sh 10.99.0.1K WORDS..: runs the words on one of them, as ssh would
# Machines are network namespaces of this one, joined by a bridge; they end with the words, after five minutes at most.
# Their processes are kept in files in $MACHINES. At the end: how many bytes came from the first.
set -eu
case $1 in 10.99.0.*)
    pid=$(cat "$MACHINES/$1")
    shift
    exec nsenter -t "$pid" --net --uts -- sh -c "$*" ;;
esac
[ "${INSIDE:-}" ] || INSIDE=1 exec unshare --net "$0" "$@"
count=$1 pids=
shift
trap 'kill $pids' EXIT
ip link set lo up
ip link add bridge0 type bridge
ip addr add 10.99.0.1/24 dev bridge0
ip link set bridge0 up
for ((i = 1; i <= count; i++)); do
    unshare --net --uts sleep 300 &
    pid=$! pids="$pids $!"
    while [ "$(readlink /proc/$pid/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    echo $pid >"$MACHINES/10.99.0.1$i"
    ip link add "port$i" type veth peer name eth0 netns $pid
    ip link set "port$i" master bridge0 up
    "$0" "10.99.0.1$i" "hostname machine$i; ip link set lo up; ip addr add 10.99.0.1$i/24 dev eth0; ip link set eth0 up"
done
timeout -k 5 200 "$@"
ip -s link show port1 | awk '/RX:/ { getline; print $1 }' >&2
