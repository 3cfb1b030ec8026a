#!/bin/bash
# Latency of collectives on this machine, MPICH over TCP and simrun over TCP in turn, five times each: a table of medians.
# Needs mpicc.mpich and mpiexec.mpich (Debian: mpich, libmpich-dev) and `cargo build --release -p simrun-cli -p osu`.
# ./versus-mpich.sh [RUNS] [RANKS] [block|spin]
#
# MPICH's shared memory is switched off (MPIR_CVAR_NOLOCAL), so that both send through sockets. A barrier follows each call on both sides. MPICH polls:
# with more ranks than processors each of its calls takes milliseconds.
set -euo pipefail
runs=${1:-5} ranks=${2:-2} wait=${3:-spin}
here=$(cd "$(dirname "$0")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.mpich -O2 "$here/osu.c" -o "$work/osu"

# Prints the mean time of a call in microseconds.
latency() { awk '/^[0-9]+ / { print $2 }'; }
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
theirs() { # collective, bytes, iterations
  MPIR_CVAR_NOLOCAL=1 FI_PROVIDER=tcp UCX_TLS=tcp,self mpiexec.mpich -n "$ranks" "$work/osu" "$1" "$2" "$3" 10 < /dev/null | latency
}
ours() {
  "$target/release/osu" real --backend tcp --wait "$wait" -n "$ranks" --prefix-rank=false -- \
    --test "$1" --min "$2B" --max "$2B" --iterations "$3" --warmup 10 < /dev/null | latency
}

echo "| call of $ranks ranks | bytes | MPICH in us | simrun in us | ratio |"
echo "|---|---|---|---|---|"
while read -r collective bytes iterations; do
  : > "$work/theirs"; : > "$work/ours"
  for _ in $(seq "$runs"); do
    theirs "$collective" "$bytes" "$iterations" >> "$work/theirs"
    ours "$collective" "$bytes" "$iterations" >> "$work/ours"
  done
  awk -v row="$collective | $bytes" -v theirs="$(median < "$work/theirs")" -v ours="$(median < "$work/ours")" \
    'BEGIN { printf "| %s | %s | %s | %.2f |\n", row, theirs, ours, ours / theirs }'
done << ROWS
allreduce 8 1000
allreduce 1024 1000
allreduce 65536 200
allreduce 1048576 50
bcast 1024 1000
alltoall 1024 300
ROWS
