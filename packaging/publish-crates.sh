#!/usr/bin/env bash
# Uploads the packages that crates.io does not have yet in this version. After an error, such as the
# limit of new names, another call continues. Nothing is built: `cargo publish --workspace --dry-run`
# has built all packages before. Use: publish-crates.sh, with a token of crates.io.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(python3 packaging/release.py version)
names=$(python3 packaging/release.py names)
uploaded=()
for name in $names; do
  # Outside of the checkout, whose packages have the same names.
  if (cd / && cargo info --quiet --registry crates-io "$name@$version") >/dev/null 2>&1; then
    uploaded+=(--exclude "$name")
  fi
done
printf 'publish-crates.sh: %s packages have been uploaded before\n' "$((${#uploaded[@]} / 2))"
cargo publish --locked --workspace --no-verify "${uploaded[@]}"
