#!/usr/bin/env bash
# Makes the pictures of the README: the timeline and the beginning of the report of apps/imbalance.
# docs/pictures/make.sh [FOLDER]; needs a built simrun (by default target/release/simrun; SIMRUN names
# another one), Chromium and python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here}")
cd "$here/../.."
browser=$(command -v chromium-headless-shell || command -v chromium)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

shoot() { # name, page, width and height in pixels
  "$browser" --no-sandbox --disable-gpu --hide-scrollbars --window-size="$3" --screenshot="$out/$1.png" "file://$2" 2> "$work/browser"
  [ -s "$out/$1.png" ] || { cat "$work/browser" >&2; exit 1; }
}

mkdir -p "$out"
# In a folder of this name, which the page shows.
folder=target/readme/imbalance
"${SIMRUN:-${CARGO_TARGET_DIR:-target}/release/simrun}" --platform platforms/cluster.toml -n 8 --analyse=$folder apps/imbalance > /dev/null
report=$PWD/$folder/report.html
shoot report "$report" 900,1000
# The page without its other sections.
python3 - "$report" > "$work/timeline.html" << 'PY'
import re, sys
page = open(sys.argv[1]).read()
sections = re.findall(r"<section>.*?</section>", page, re.S)
[timeline] = [section for section in sections if "<h2>Timeline of the ranks</h2>" in section]
head = page[: page.index("<body")]
print(head + "<style>main, section, h2 { margin-top: 0 }</style><body><main>" + timeline + "</main></body></html>")
PY
shoot timeline "$work/timeline.html" 900,300
