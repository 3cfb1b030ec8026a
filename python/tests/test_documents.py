"""The examples of the documents run, and versions agree."""

import re

import pytest

from conftest import ROOT


def blocks(page: str) -> "list[str]":
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_examples_run(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = blocks(page)
    assert found
    names: "dict[str, object]" = {}
    for block in found:
        exec(compile(block, page, "exec"), names)


def test_versions_agree() -> None:
    cargo = (ROOT / "Cargo.toml").read_text("utf-8")
    version = re.search(r'\[workspace.package\]\nversion = "([^"]+)"', cargo)
    assert version is not None
    for project in ["python", "python/tools"]:
        text = (ROOT / project / "pyproject.toml").read_text("utf-8")
        assert f'version = "{version[1]}"' in text
    assert f"simrun-tools=={version[1]}" in (ROOT / "python/pyproject.toml").read_text("utf-8")
