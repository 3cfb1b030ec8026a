"""The examples of the documents run."""

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
