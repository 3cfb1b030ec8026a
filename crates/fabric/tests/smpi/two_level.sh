#!/bin/bash
# Makes two-level.csv again, with smpicc and smpirun of SimGrid 3.32: ./two_level.sh > two-level.csv
# Calls that SMPI cannot execute are left out, and written to the standard error.
set -eu
cd "$(dirname "$0")"
. ../../../../bench/smpi.sh
smpicc -O1 two_level.c -o "$work/two_level"
crossbar 64
echo "collective,algorithm,ranks,each,bytes,root,dates of the first call,dates of the second call"

# collective, algorithm or selector, ranks, ranks on each host (negative: hosts in turn), bytes, root
situation() {
  for rank in $(seq 0 $(($3 - 1))); do
    if [ "$4" -gt 0 ]; then echo "n-$((rank / $4))"; else echo "n-$((rank % -($4)))"; fi
  done > "$work/hosts"
  case $2 in
    selector-*) choice=--cfg=smpi/coll-selector:${2#selector-} ;;
    *) choice=--cfg=smpi/$1:$2 ;;
  esac
  dates=$(timeout 60 smpirun -np "$3" -platform "$work/crossbar.xml" -hostfile "$work/hosts" \
    --cfg=network/model:SMPI --cfg=surf/precision:1e-13 --cfg=smpi/os:0:0:0 --cfg=smpi/or:0:0:0 --cfg=smpi/ois:0:0:0 \
    --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 "$choice" --log=root.thres:critical \
    "$work/two_level" "$1" "$5" "$6" 2 2> /dev/null | sort -n) || true
  if [ "$(echo "$dates" | grep -c '^[0-9]')" = "$3" ]; then
    first=$(echo "$dates" | awk '{printf "%s%s", s, $2; s=" "}')
    second=$(echo "$dates" | awk '{printf "%s%s", s, $3; s=" "}')
    echo "$1,$2,$3,$4,$5,$6,$first,$second"
  else
    echo "fails: $*" >&2
  fi
}

while read -r collective names; do
  for name in $names; do
    for shape in "4 2" "6 2" "8 4" "12 3" "16 8" "7 4" "8 -4"; do
      read -r ranks each <<< "$shape"
      for bytes in 8 1024 65536; do
        if [ "$collective" = barrier ] && [ $bytes != 8 ]; then continue; fi
        roots=0
        case $collective in
          bcast | reduce | gather | scatter) if [ $bytes = 1024 ]; then roots="0 $((ranks - 1))"; fi ;;
        esac
        for root in $roots; do situation "$collective" "$name" "$ranks" "$each" $bytes "$root"; done
      done
    done
  done
done << LIST
barrier mpich_smp ompi_bruck selector-mpich selector-mvapich2
bcast SMP_binomial binomial_tree selector-mpich selector-mvapich2
reduce mvapich2_two_level binomial selector-mpich selector-mvapich2
allreduce mvapich2_two_level smp_rdb smp_binomial smp_rsag_lr smp_rsag_rab rdb selector-mpich selector-mvapich2
allgather mvapich2_smp ring selector-mpich selector-mvapich2
gather mvapich2_two_level selector-mpich selector-mvapich2
scatter mvapich2_two_level_direct mvapich2_two_level_binomial selector-mpich selector-mvapich2
alltoall basic_linear selector-mpich
LIST
