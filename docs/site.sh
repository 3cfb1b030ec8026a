#!/usr/bin/env bash
# Builds the documentation site from the pages of this checkout: docs/site.sh FOLDER
# FOLDER/book is the site, with rustdoc in FOLDER/book/api where `cargo doc` has been run. A link to a
# file that the site does not have is an error. Needs mdBook and Python.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: docs/site.sh FOLDER" >&2; exit 2; }
cd "$(dirname "$0")/.."
mkdir -p "$1"
folder=$(realpath "$1")
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
rm -rf "$folder/pages" "$folder/book"
mkdir "$folder/pages"

# The folders of the checkout stay as they are, so that links between pages and to files hold.
git ls-files -z '*.md' docs results platforms studies packaging python apps crates/cmpi/tests/freedoms |
  xargs -0 cp --parents --target-directory "$folder/pages"
# mdBook makes index.html of README.md, but leaves links to that page.
find "$folder/pages" -name '*.md' -exec sed -i 's#README\.md\([)\#]\)#index.md\1#g' {} +
# The table of contents lies beside the pages of docs/, and all results follow.
sed 's#](\([^.)]\)#](docs/\1#; s#](\.\./#](#' docs/SUMMARY.md > "$folder/pages/SUMMARY.md"
git ls-files 'results/*.md' | while read -r page; do
  grep -qF "($page)" "$folder/pages/SUMMARY.md" || echo "* [$(sed -n 's/^# //p;T;q' "$page")]($page)"
done > "$folder/more"
cat "$folder/more" >> "$folder/pages/SUMMARY.md"
cp docs/book.toml "$folder/book.toml"
mdbook build "$folder"
if [ -d "$target/doc" ]; then
  cp -r "$target/doc" "$folder/book/api"
fi
python3 - "$folder/book" <<'CHECK'
import pathlib, re, sys
book = pathlib.Path(sys.argv[1])
pages = [page for page in book.rglob("*.html") if page.relative_to(book).parts[0] not in ("api", "404.html", "print.html", "toc.html")]
links = [(page, link) for page in pages for link in re.findall(r'(?:href|src)="([^"#?:]+)["#?]', page.read_text())]
broken = [f"{page.relative_to(book)}: {link}" for page, link in links if not (page.parent / link).exists()]
print(f"{len(pages)} pages, {len(links)} links in {book}/index.html")
sys.exit("\n".join(sorted(set(broken))) or 0)
CHECK
