#!/bin/bash
# Makes communicators.csv and remainders.csv again, with smpicc and smpirun of SimGrid 3.32: ./communicators.sh
set -eu
cd "$(dirname "$0")"
. ../../../../bench/smpi.sh
smpicc -O1 communicators.c -o "$work/communicators"
crossbar 64

# ranks, option, arguments: the dates of all ranks in microseconds
dates() {
  np=$1
  choice=$2
  shift 2
  smpirun -np "$np" -platform "$work/crossbar.xml" -hostfile "$work/hosts" --cfg=network/model:SMPI --cfg=surf/precision:1e-13 \
    --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 "$choice" --log=root.thres:error "$work/communicators" "$@" 2> /dev/null |
    sort -n | awk '{printf "%s%s", s, $2; s=" "}'
}

{
  echo "selector,call,np,end_dates_of_ranks_0_to_np-1_in_us"
  for selector in default ompi mpich mvapich2 impi; do
    for np in 2 3 4 7 8 16; do
      for call in dup "split 2 1" "split 2 -1" "split 1 0" splitund create create_group cart cartsub; do
        case "$call $np" in cart*[37] | "cartsub 2") continue ;; esac
        # Broadcasts of impi read memory that is not theirs, and fail now and then.
        case "$selector $np" in impi\ [78] | "impi 16") continue ;; esac
        # shellcheck disable=SC2086
        echo "$selector,$call,$np,$(dates $np --cfg=smpi/coll-selector:$selector $call)"
      done
    done
  done
} > communicators.csv
{
  echo "collective,algorithm,np,bytes,root,end_dates_of_ranks_0_to_np-1"
  for selector in ompi impi; do
    for np in 3 5 7; do
      for count in 3 5 1000 1025 2051 3001 8192 12345 20000 26215 32767; do
        if [ $((count % np)) = 0 ]; then continue; fi
        echo "allreduce,$selector,$np,$((8 * count)),0,$(dates $np --cfg=smpi/allreduce:$selector allreduce $count |
          awk '{for (i = 1; i <= NF; i++) printf "%s%.14e", (i > 1 ? " " : ""), $i * 1e-6}')"
      done
    done
  done
} > remainders.csv
