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
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smpicc -O2 "$source" -o "$work/smpi-ring"
"$ours/simrun" cc -O2 "$source" -o "$work/ring"

# Prints the user CPU of a command in seconds. Children count: smpirun is a shell script.
user() { { time "$@" > "$work/output" 2> "$work/errors" < /dev/null; } 2>&1; }
TIMEFORMAT=%3U
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
latency() { awk '/^round/ { time = $3 } END { print time }' "$work/output"; }

echo "| ranks | rounds | SMPI in s | simrun, C, in s | ratio | simrun, Rust, in s | C ÷ Rust | SMPI in us | simrun in us |"
echo "|---|---|---|---|---|---|---|---|---|"
while read -r ranks rounds; do
  seq -f 'n-%g' 0 $((ranks - 1)) > "$work/hosts"
  cat > "$work/cluster.xml" << XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n-" suffix="" radical="0-$((ranks - 1))" speed="1Gf" bw="1.25GBps" lat="1us"/>
</platform>
XML
  cat > "$work/cluster.toml" << TOML
version = 1
[network]
model = "smpi"
[clusters.c]
hosts = "n-[0-$((ranks - 1))]"
speed = "1Gf"
bandwidth = "1.25GBps"
latency = "1us"
sharing = "split-duplex"
TOML
  : > "$work/smpi.times"; : > "$work/c.times"; : > "$work/rust.times"
  for _ in $(seq "$runs"); do
    user smpirun -np "$ranks" -platform "$work/cluster.xml" -hostfile "$work/hosts" --cfg=network/model:SMPI --cfg=smpi/os:0:0:0 \
      --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --log=root.thres:critical \
      "$work/smpi-ring" --rounds "$rounds" >> "$work/smpi.times"
    theirs=$(latency)
    user "$ours/ring" --platform "$work/cluster.toml" -n "$ranks" -- --rounds "$rounds" >> "$work/rust.times"
    user "$ours/simrun" --platform "$work/cluster.toml" -n "$ranks" "$work/ring" -- --rounds "$rounds" >> "$work/c.times"
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
