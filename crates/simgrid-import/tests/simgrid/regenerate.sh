#!/bin/sh
# Writes NAME.MODEL.dates beside each NAME.xml of a folder (this one if none is given) with the SimGrid that is installed
# (Debian: libsimgrid-dev). SimGrid's default of network/optim misses changes of rates in 3.32, so everything is solved at each
# event. `raw` has no name there: it is CM02 without crosstraffic, window and weight.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here}"
program=$(mktemp)
g++ -O2 -std=c++17 -o "$program" "$here/dates.cpp" -lsimgrid
for file in *.xml; do
  for model in raw cm02 lv08; do
    case $model in
    raw) options="--cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 --cfg=network/weight-S:0" ;;
    cm02) options="--cfg=network/model:CM02" ;;
    lv08) options="--cfg=network/model:LV08" ;;
    esac
    # Quietly: only the figures.
    "$program" "$file" --log=root.thres:error --cfg=network/optim:Full $options > "${file%.xml}.$model.dates"
  done
done
rm "$program"
