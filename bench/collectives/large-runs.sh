#!/bin/bash
# User CPU and memory of single large runs on platforms/loggops.toml: the first table of results/collectives.md.
# Needs `cargo build --release -p allreduce -p alltoall -p barrier -p osu` and GNU time.
# ./large-runs.sh
#
# The start of the process counts.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=${CARGO_TARGET_DIR:-$here/../../target}/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "| run | messages | user CPU in s | messages per second | memory in MB | goal |"
echo "|---|---|---|---|---|---|"
while IFS='|' read -r run goal; do
  read -r program words <<< "$run"
  options=${words%% -- *}
  arguments=
  case $words in *' -- '*) arguments=${words#* -- } ;; esac
  # shellcheck disable=SC2086 # several words
  /usr/bin/time -f '%U %M' -o "$work/used" "$programs/$program" -p "$here/../../platforms/loggops.toml" --payload phantom \
    $options --format json -- $arguments > "$work/record" 2> /dev/null
  read -r seconds kib < "$work/used"
  messages=$(grep -o '"messages": *[0-9]*' "$work/record" | grep -o '[0-9]*$' | head -1)
  awk -v run="$run" -v goal="$goal" -v messages="$messages" -v seconds="$seconds" -v kib="$kib" 'BEGIN {
    printf "| `%s` | %.1f M | %.1f | %.1f M | %.0f | %s |\n", run, messages / 1e6, seconds, messages / seconds / 1e6, kib / 1000, goal }'
done << ROWS
barrier -n 1000000|≤ 20 s
allreduce -n 100000 -- --size 8B|2 M/s
allreduce -n 100000 -- --size 1MiB|2 M/s
allreduce -n 1000000 -- --size 8B|≤ 30 s, ≤ 2 500 MB
alltoall -n 1000|≤ 5 s
osu -n 1024 --set collectives.alltoall=pairwise -- --test alltoall --min 1KiB --max 1KiB --iterations 1 --warmup 0|≤ 2 s, ≤ 500 MB
ROWS
