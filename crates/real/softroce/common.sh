# Sourced by the other scripts: where things are, and what has to be installed.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
# All that is made here; as large as 300 MB. Removed by `cargo clean`.
cache=${SOFTROCE_DIR:-${CARGO_TARGET_DIR:-$root/target}/softroce}
# depmod and modprobe are not in everybody's path.
PATH=$PATH:/usr/sbin:/sbin

die() {
  printf 'softroce: %s\n' "$*" >&2
  exit 2
}

# need TOOL=PACKAGE...: names all tools that are missing at once, with the Debian packages that have them.
need() {
  local pair missing=() packages=()
  for pair in "$@"; do
    if ! command -v "${pair%%=*}" >/dev/null; then
      missing+=("${pair%%=*}")
      packages+=("${pair#*=}")
    fi
  done
  [ ${#missing[@]} -eq 0 ] || die "missing: ${missing[*]}. On Debian: apt-get install ${packages[*]}"
}
