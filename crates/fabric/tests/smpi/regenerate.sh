#!/bin/sh
# Makes dates.txt again, with smpicc and smpirun of SimGrid 3.32: ./regenerate.sh > dates.txt
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smpicc -O1 point_to_point.c -o "$work/point_to_point"
printf 'a\nb\n' > "$work/hosts"
COSTS="--cfg=smpi/os:0:1e-5:1e-9;1000:2e-5:2e-9 --cfg=smpi/ois:0:3e-5:3e-9;1000:4e-5:4e-9 --cfg=smpi/or:0:5e-5:5e-9;1000:6e-5:6e-9"

# costs, threshold of small messages, calls, size, when each rank begins
situation() {
  options=""
  if [ "$1" = over ]; then options=$COSTS; fi
  # shellcheck disable=SC2086
  dates=$(smpirun -np 2 -platform two.xml -hostfile "$work/hosts" --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 \
    --log=root.thres:error --cfg=smpi/async-small-thresh:"$2" $options "$work/point_to_point" "$3" "$4" "$5" "$6" 2> /dev/null |
    sort -s -k1,1n | paste -sd ';')
  echo "$1 $2 $3 $4 $5 $6 $dates"
}

for costs in none over; do
  for small in 0 65536; do
    for calls in send isend two pingpong; do
      for size in 100 2000 70000; do
        situation $costs $small $calls $size 0 0
        situation $costs $small $calls $size 0.05 0
        situation $costs $small $calls $size 0 0.05
      done
    done
  done
done
# Around every size at which a factor or the protocol changes.
for calls in send ssend pingpong; do
  for size in 0 1 257 258 732 733 1426 1427 3484 3485 65472 65473 65535 65536 65537; do
    situation none 0 $calls $size 0 0
    situation none 0 $calls $size 0 0.05
  done
done
for calls in send isend ssend; do
  for size in 999 1000 1001 65535 65536 65537; do
    situation none 1000 $calls $size 0 0
    situation none 1000 $calls $size 0 0.05
    situation over 1000 $calls $size 0 0.05
  done
done
