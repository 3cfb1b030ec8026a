"""Facts of a release, for the workflow `release.yml` and for `docs/publishing.md`.

Use: release.py version          the version of the workspace
     release.py names            the packages for crates.io, each after its dependencies
     release.py notes            the section of CHANGELOG.md on this version, with whole links
     release.py check [TAG]      all files have one version; with a tag, they are ready for it
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def text(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def toml(path: str) -> "dict[str, Any]":
    return tomllib.loads(text(path))


def published() -> "list[dict[str, Any]]":
    """Returns the packages for crates.io, each after its dependencies."""
    command = ["cargo", "metadata", "--offline", "--no-deps", "--format-version", "1"]
    output = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE).stdout
    packages = {found["name"]: found for found in json.loads(output)["packages"] if found["publish"] != []}
    # A dependency of tests counts if the manifest names a version; cargo removes the others.
    needs = {
        name: {d["name"] for d in package["dependencies"] if d["name"] in packages and d["req"] != "*"}
        for name, package in packages.items()
    }
    ordered: "list[str]" = []
    while len(ordered) < len(packages):
        ready = sorted(name for name in packages if name not in ordered and needs[name] <= set(ordered))
        if not ready:
            sys.exit(f"release.py: a circle of packages: {sorted(set(packages) - set(ordered))}")
        ordered += ready
    return [packages[name] for name in ordered]


def section(version: str) -> "tuple[str, str]":
    """Returns the rest of the heading, and the text, of a version in CHANGELOG.md."""
    pattern = rf"^## {re.escape(version)}\b(.*?)\n(.*?)(?=^## |\Z)"
    found = re.search(pattern, text("CHANGELOG.md"), re.DOTALL | re.MULTILINE)
    return (found[1].strip(), found[2].strip()) if found else ("", "")


def with_whole_links(notes: str, address: str) -> str:
    """Returns a text whose links to files of the repository begin with an address: the page of a
    release is in no folder of the repository."""
    return re.sub(r"\]\((?![a-z]+:|#)", f"]({address}/", notes)


def notes_of(version: str) -> str:
    """Returns the text of the page of a release."""
    repository = toml("Cargo.toml")["workspace"]["package"].get("repository")
    notes = section(version)[1]
    return with_whole_links(notes, f"{repository}/blob/v{version}") if repository else notes


def mistakes(version: str, tag: "str | None") -> "list[str]":
    found = []

    def expect(place: str, seen: object, expected: object) -> None:
        if seen != expected:
            found.append(f"{place}: {seen}, expected {expected}")

    dependencies = toml("Cargo.toml")["workspace"]["dependencies"]
    for name, entry in dependencies.items():
        if isinstance(entry, dict) and "path" in entry and "version" in entry:
            expect(f"Cargo.toml: {name}", entry["version"], version)
    simrun, tools = toml("python/pyproject.toml")["project"], toml("python/tools/pyproject.toml")["project"]
    expect("python/pyproject.toml", simrun["version"], version)
    extras = simrun["optional-dependencies"]
    expect("python/pyproject.toml: tools", extras["tools"], [f"simrun-tools=={version}"])
    expect("python/tools/pyproject.toml", tools["version"], version)
    for path, pattern in [
        ("packaging/conda/recipe.yaml", r'^  version: "(.*)"$'),
        ("CITATION.cff", r"^version: (.*)$"),
    ]:
        expect(path, re.findall(pattern, text(path), re.MULTILINE), [version])
    packages = published()
    for package in packages:
        expect(f"{package['name']}: Cargo.toml", package["version"], version)
    listed = re.findall(r"^\| \d+ \| `([a-z-]+)` \|", text("docs/publishing.md"), re.MULTILINE)
    names = [package["name"] for package in packages]
    expect("docs/publishing.md: names", listed, names)
    counted = re.findall(r"each of the (\d+) packages", text("docs/publishing.md"))
    expect("docs/publishing.md: number of packages", counted, [str(len(names))])
    state, notes = section(version)
    if not notes:
        found.append(f"CHANGELOG.md: expected a section ## {version}")
    if tag is not None:
        expect("the tag", tag, f"v{version}")
        if not re.fullmatch(r"\(\d{4}-\d{2}-\d{2}\)", state):
            found.append(f"CHANGELOG.md: ## {version} {state}: expected the date, as in (2026-12-31)")
        without = [package["name"] for package in packages if not package["repository"]]
        if without:
            found.append(f"manifests without `repository`: {', '.join(without)}")
    return found


def main() -> None:
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    match sys.argv[1:]:
        case ["version"]:
            print(version)
        case ["names"]:
            print("\n".join(package["name"] for package in published()))
        case ["notes"]:
            print(notes_of(version))
        case ["check", *rest] if len(rest) <= 1:
            found = mistakes(version, rest[0] if rest else None)
            if found:
                sys.exit("\n".join(f"release.py: {line}" for line in found))
            print(f"release: version {version} in all files")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
