#!/usr/bin/env bash
# The report of a run in a headless browser: no request, no line on the console, the rows of the tables, pictures, and no
# sideways scrolling at 400 pixels. Use: html.sh DIR, a folder of pages.
set -euo pipefail
browser=
for name in chromium-headless-shell chromium; do
  if command -v "$name" >/dev/null; then
    browser=$name
    break
  fi
done
if [ -z "$browser" ]; then
  echo "html.sh: no browser: install chromium-headless-shell or chromium" >&2
  exit 1
fi
pages=("${1:?a folder of pages}"/*.html)
[ -e "${pages[0]}" ] || { echo "html.sh: $1: no pages" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

browse() {
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --host-resolver-rules='MAP * ~NOTFOUND' --enable-logging=stderr --log-level=0 "$@" 2>"$work/log"
}

fail() {
  echo "html.sh: $1" >&2
  exit 1
}

for page in "${pages[@]}"; do
  # A copy that measures itself, and sorts a table; the page itself has no such script.
  probe=$work/probe.html
  sed 's|</body>|<script>addEventListener("load", () => { const ranks = document.querySelector("#ranks, #results").closest("details"); const value = cell => "v" in cell.dataset ? Number(cell.dataset.v) : cell.textContent; const first = () => value(ranks.querySelector("tbody td")); const head = ranks.querySelector("th"); const column = [...ranks.querySelectorAll("tbody td:first-child")].map(value); column.sort((a, b) => a < b ? -1 : a > b ? 1 : 0); head.click(); const down = first() === column.at(-1); head.click(); const isUp = first() === column[0]; document.querySelectorAll("details").forEach(one => { one.open = true; }); const hidden = Math.max(0, ...[...document.querySelectorAll("figure .scroll")].map(box => box.scrollWidth - box.clientWidth)); document.body.dataset.measured = [document.documentElement.scrollWidth, innerWidth, column.length, down, isUp, hidden].join(" "); });</script></body>|' "$page" >"$probe"
  browse --window-size=400,900 --dump-dom "file://$probe" >"$work/dom"
  if grep ':CONSOLE' "$work/log"; then
    fail "$page: lines on the console"
  fi
  measured=$(grep -o 'data-measured="[^"]*"' "$work/dom" | tr -d '"' | cut -d= -f2) || fail "$page: no measurement"
  read -r scroll width rows down up hidden <<<"$measured"
  expected=$(sed -n '/id="\(ranks\|results\)"/,/<\/tbody>/p' "$page" | grep -c '^<tr><td')
  [ "$width" -le 400 ] && [ "$scroll" -le "$width" ] || fail "$page: $scroll pixels wide in a window of $width"
  [ "$rows" = "$expected" ] && [ "$rows" -gt 0 ] || fail "$page: $rows rows of ranks, expected $expected"
  [ "$hidden" = 0 ] || fail "$page: $hidden pixels of a picture are hidden in a window of $width"
  # The first click shows the largest value of the column first, the second one the smallest.
  [ "$down $up" = "true true" ] || fail "$page: sorted downwards: $down, upwards: $up"
  for scheme in light dark; do
    flags=()
    if [ "$scheme" = dark ]; then
      flags=(--blink-settings=preferredColorScheme=0)
    fi
    for size in 1200,1600 400,900; do
      picture=$work/$scheme-$size.png
      browse "${flags[@]}" --window-size="$size" --screenshot="$picture" "file://$(realpath "$page")" >/dev/null
      if grep ':CONSOLE' "$work/log"; then
        fail "$page: lines on the console"
      fi
      # A blank picture of this size compresses to less.
      bytes=$(stat -c %s "$picture")
      [ "$bytes" -gt 10000 ] || fail "$page: the $scheme screenshot of $size pixels is blank: $bytes bytes"
      if [ -n "${SIMRUN_SCREENSHOTS:-}" ]; then
        cp "$picture" "$SIMRUN_SCREENSHOTS/$(basename "$page" .html)-$scheme-$size.png"
      fi
    done
  done
  echo "$(basename "$page"): $rows ranks, $scroll pixels wide of $width, no line on the console"
done
