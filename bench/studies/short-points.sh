#!/bin/bash
# Short points per second of `simrun study run`, the whole command and the part that runs points: a table of medians.
# Needs `cargo build --release -p simrun-cli -p simrun-tools`. ./short-points.sh [RUNS]
set -euo pipefail
runs=${1:-5}
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
simrun=${CARGO_TARGET_DIR:-target}/release/simrun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
seconds() { # prints the real time of a command
  local start=$EPOCHREALTIME
  "$@" > "$work/out" 2> "$work/err"
  awk -v start="$start" -v end="$EPOCHREALTIME" 'BEGIN { print end - start }'
}

echo "| study | points | making the folder in s | running in s | points per second while running | of the whole command |"
echo "|---|---|---|---|---|---|"
for study in sizes platforms; do
  : > "$work/plan"; : > "$work/run"
  for run in $(seq "$runs"); do
    seconds "$simrun" study run "bench/studies/$study.toml" --no-run --out "$work/$study-$run" >> "$work/plan"
    seconds "$simrun" study work "$work/$study-$run" --worker 0/1 >> "$work/run"
  done
  points=$(wc -l < "$work/$study-1/points.jsonl")
  awk -v study="$study" -v points="$points" -v plan="$(median < "$work/plan")" -v run="$(median < "$work/run")" \
    'BEGIN { printf "| %s | %d | %.1f | %.1f | %.0f | %.0f |\n", study, points, plan, run, points / run, points / (plan + run) }'
done
