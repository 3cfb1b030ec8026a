#!/bin/bash
# User CPU of a ring of 64, 1024 and 4096 ranks, one C source under SMPI and as a compiled program under simrun in turn, five times each: a table of medians.
# Needs smpicc and smpirun (Debian: simgrid) and `cargo build --release -p simrun-cli -p ring`.
# ./versus-smpi.sh [RUNS]
#
# The same platform and the model smpi on both sides, messages of 1 KiB; the start of the processes counts, on both sides. The last
# columns are the simulated times of the last round in microseconds.
set -euo pipefail
runs=${1:-5}
here=$(cd "$(dirname "$0")" && pwd)
ours=${CARGO_TARGET_DIR:-$here/../../target}/release
source=$here/../../apps/c/ring.c
. "$here/../smpi.sh"
smpicc -O2 "$source" -o "$work/smpi-ring"
"$ours/simrun" cc -O2 "$source" -o "$work/ring"

latency() { awk '/^round/ { time = $3 } END { print time }' "$work/output"; }

echo "| ranks | rounds | SMPI in s | simrun, C, in s | ratio | simrun, Rust, in s | C ÷ Rust | SMPI in us | simrun in us |"
echo "|---|---|---|---|---|---|---|---|---|"
while read -r ranks rounds; do
  crossbar "$ranks" smpi
  : > "$work/smpi.times"; : > "$work/c.times"; : > "$work/rust.times"
  for _ in $(seq "$runs"); do
    smpi_timed "$ranks" "$work/smpi-ring" --rounds "$rounds" >> "$work/smpi.times"
    theirs=$(latency)
    timed "$ours/ring" --platform "$work/crossbar.toml" -n "$ranks" -- --rounds "$rounds" >> "$work/rust.times"
    timed "$ours/simrun" --platform "$work/crossbar.toml" -n "$ranks" "$work/ring" -- --rounds "$rounds" >> "$work/c.times"
    own=$(latency)
  done
  awk -v ranks="$ranks" -v rounds="$rounds" -v smpi="$(median < "$work/smpi.times")" -v c="$(median < "$work/c.times")" \
    -v rust="$(median < "$work/rust.times")" -v theirs="$theirs" -v own="$own" \
    'BEGIN { printf "| %d | %d | %.3f | %.3f | %.1f | %.3f | %.2f | %s | %s |\n", ranks, rounds, smpi, c, smpi / c, rust, c / rust, theirs, own }'
done << ROWS
64 2000
1024 100
4096 20
ROWS
