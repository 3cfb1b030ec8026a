#!/bin/bash
# User CPU of collectives on 64 ranks, SMPI and simrun in turn, five times each: a table of medians with their geometric mean.
# Needs smpicc and smpirun (Debian: simgrid) and `cargo build --release -p osu`.
# ./versus-smpi.sh [RUNS]
#
# Both sides execute one call of warm-up and the iterations of a row, with a barrier after each, on real buffers, and simrun also
# on phantoms, with the same algorithm or selector; where a row names an algorithm, barriers are those of the selector `default`. The start of the process counts, on both sides. The last
# columns are the mean simulated time of a call in microseconds.
set -euo pipefail
runs=${1:-5}
here=$(cd "$(dirname "$0")" && pwd)
ours=${CARGO_TARGET_DIR:-$here/../../target}/release/osu
. "$here/../smpi.sh"
smpicc -O2 "$here/osu.c" -o "$work/osu"
crossbar 64

# A row names an algorithm of the call, or a selector for all calls.
smpi() { # collective, algorithm or selector-NAME, bytes, iterations
  case $2 in
    selector-*) choice=(--cfg=smpi/coll-selector:"${2#selector-}") ;;
    *) choice=(--cfg=smpi/coll-selector:default "--cfg=smpi/$1:$2") ;;
  esac
  smpi_timed 64 "${choice[@]}" "$work/osu" "$1" "$3" "$4" 1
}

simrun() { # the same, then real or phantom
  case $2 in
    selector-*) choice=(--set collectives.selector="smpi-${2#selector-}") ;;
    *) choice=(--set collectives.selector=smpi-default --set "collectives.$1=smpi:$2") ;;
  esac
  timed "$ours" --platform "$here/crossbar-64.toml" -n 64 "${choice[@]}" --payload "$5" -- \
    --test "$1" --min "$3B" --max "$3B" --iterations "$4" --warmup 1
}

latency() { awk '/^[0-9]/ { print $2 }' "$work/output"; }

echo "| call | bytes | iterations | SMPI in s | simrun in s | ratio | phantom in s | ratio | SMPI in us | simrun in us |"
echo "|---|---|---|---|---|---|---|---|---|---|"
while read -r collective algorithm bytes iterations; do
  : > "$work/smpi"; : > "$work/real"; : > "$work/phantom"
  for _ in $(seq "$runs"); do
    smpi "$collective" "$algorithm" "$bytes" "$iterations" >> "$work/smpi"; theirs=$(latency)
    simrun "$collective" "$algorithm" "$bytes" "$iterations" phantom >> "$work/phantom"
    simrun "$collective" "$algorithm" "$bytes" "$iterations" real >> "$work/real"; own=$(latency)
  done
  awk -v row="$collective $algorithm | $bytes | $iterations" -v smpi="$(median < "$work/smpi")" -v real="$(median < "$work/real")" \
    -v phantom="$(median < "$work/phantom")" -v theirs="$theirs" -v own="$own" \
    'BEGIN { printf "| %s | %.3f | %.3f | %.1f | %.3f | %.1f | %s | %s |\n", row, smpi, real, smpi / real, phantom, smpi / phantom,
      theirs, own }' | tee -a "$work/table"
done << ROWS
allreduce rdb 8 100
allreduce rdb 65536 100
allreduce lr 65536 20
allreduce rab1 65536 100
allreduce ompi_ring_segmented 1048576 5
allreduce redbcast 1024 100
allreduce selector-mvapich2 8 100
allreduce selector-mpich 1048576 20
allreduce selector-ompi 65536 50
alltoall bruck 8 50
alltoall basic_linear 1024 10
alltoall pair 1024 10
alltoall ring 65536 5
alltoall selector-mpich 8 50
alltoall selector-ompi 65536 5
alltoall selector-mvapich2 1024 10
bcast binomial_tree 8 200
bcast binomial_tree 1048576 100
bcast scatter_LR_allgather 1048576 10
bcast scatter_rdb_allgather 65536 50
bcast flattree_pipeline 65536 50
bcast ompi_pipeline 1048576 10
bcast selector-mpich 65536 50
bcast selector-mvapich2 1048576 50
ROWS
awk -F'|' '{ real += log($7); phantom += log($9); count++ }
  END { printf "\nGeometric mean of %d ratios: %.1f on real buffers, %.1f on phantoms\n", count, exp(real / count), exp(phantom / count) }' \
  "$work/table"
