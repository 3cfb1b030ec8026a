#!/usr/bin/env bash
# The executable simrun without any library of the system, for clusters with an old C library: target
# x86_64-unknown-linux-musl. Use: static.sh OUT [PROFILE], a folder, and `release` or `dev`.
set -euo pipefail
out=$(realpath -m "${1:?a folder}")
profile=${2:-release}
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-musl
if ! [ -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
  echo "static.sh: the standard library for $target is missing: rustup target add $target" >&2
  exit 3
fi
cargo build --locked --profile "$profile" --target "$target" --package simrun-cli --features compiled
[ "$profile" = dev ] && folder=debug || folder=$profile
mkdir -p "$out"
strip -o "$out/simrun" "${CARGO_TARGET_DIR:-target}/$target/$folder/simrun"
if ldd "$out/simrun" >/dev/null 2>&1 && ! ldd "$out/simrun" | grep -q 'statically linked'; then
  echo "static.sh: it needs libraries:" >&2
  ldd "$out/simrun" >&2
  exit 1
fi
printf 'made %s: %s bytes\n' "$out/simrun" "$(stat -c %s "$out/simrun")"
