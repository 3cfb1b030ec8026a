"""Runs from Python: results, exceptions, analyses, timelines, Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

import simrun
from simrun._table import Table

from conftest import CLUSTER, ROOT

Program = Callable[[str], str]


def test_the_result_of_the_readme(program: Program) -> None:
    result = simrun.run(program("ring"), platform=CLUSTER)
    assert f"digest {result.digest}, seed 0" in (ROOT / "README.md").read_text("utf-8")
    assert result.digest == "75a6d22f874eba26"
    assert result.time == pytest.approx(64 * (1.25e-6 + 1024 / 12.5e9))
    assert (result.outcome, result.stdout) == ("finished", "round 0: 85.243 us\n")
    assert result.record["ranks"] == 64


def test_ranks_arguments_and_changes_of_the_platform(program: Program) -> None:
    result = simrun.run(
        program("ring"),
        platform=CLUSTER,
        ranks=8,
        set={"clusters.nodes.latency*": 0.5},
        args=["--size", "1MiB", "--rounds", 2],
    )
    assert result.record["messages"] == 16
    assert result.time == pytest.approx(16 * (0.625e-6 + 2**20 / 12.5e9))


def test_a_program_in_c(tmp_path: Path) -> None:
    compiled = tmp_path / "ring-in-c"
    compiler = [simrun._command.executable(), "cc", "-o", str(compiled), str(ROOT / "apps/c/ring.c")]
    subprocess.run(compiler, check=True)
    result = simrun.run(str(compiled), platform=CLUSTER, ranks=4)
    assert result.record["ranks"] == 4 and result.outcome == "finished"
    assert result.record["messages"] > 0 and result.time > 0


def test_a_deadlock_is_an_exception_with_its_table(program: Program) -> None:
    with pytest.raises(simrun.Deadlock) as caught:
        simrun.run(program("two-senders"), platform=CLUSTER, ranks=2, options=["--protocol", "rendezvous"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "deadlock: 2 ranks or actors blocked"
    assert lines[1].split() == ["rank", "host", "waits", "in", "at", "for"]
    assert lines[2].startswith("rank 0  node-0  send (destination 1, tag 0, 1024 bytes, rendezvous)")
    assert [wait.waits_for for wait in caught.value.blocked] == [(1,), (0,)]
    assert caught.value.result.outcome == "deadlock"
    assert isinstance(caught.value, simrun.Failed)


def test_results_show_themselves_in_a_notebook(program: Program) -> None:
    result = simrun.run(program("late-sender"), platform=CLUSTER, ranks=4)
    assert f"<td style=\"text-align: left\">{result.digest}</td>" in result._repr_html_()
    analysis = result.analyse()
    assert analysis._repr_html_().startswith("<iframe ") and "&lt;!DOCTYPE html&gt;" in analysis._repr_html_()
    waits = analysis.waits._repr_html_()
    assert waits.count("<tr>") == len(analysis.waits) + 1 and ">late-sender<" in waits
    many = Table({"<n>": list(range(30)), "none": [None] * 30})
    assert "<th>&lt;n&gt;</th></tr>" in many._repr_html_() and "<p>10 more rows</p>" in many._repr_html_()


def test_other_failures_are_exceptions(program: Program) -> None:
    with pytest.raises(simrun.LimitReached, match="--max-events 3"):
        simrun.run(program("ring"), platform=CLUSTER, options=["--max-events", "3"])
    with pytest.raises(simrun.InputError, match="nowhere.toml.*there is no such file"):
        simrun.run(program("ring"), platform="nowhere.toml")
    with pytest.raises(simrun.InputError, match="did you mean"):
        simrun.run(program("ring"), platform=CLUSTER, set={"clusters.nodes.latencyy": "1us"})


def test_analyses_are_tables(program: Program) -> None:
    analysis = simrun.run(program("late-sender"), platform=CLUSTER, ranks=8).analyse()
    ranks = analysis.ranks.to_pandas()
    assert len(ranks) == 8 and str(ranks.dtypes["compute_s"]) == "float64"
    assert ranks["late_sender_s"].sum() > ranks["latency_s"].sum()
    assert analysis.waits.to_polars().height > 0
    assert "<html" in analysis.html and analysis.summary
    with pytest.raises(AttributeError, match="expected one of .*ranks"):
        analysis.nothing


def test_a_timeline_is_written(program: Program, tmp_path: Path) -> None:
    simrun.run(program("ring"), platform=CLUSTER).trace(tmp_path / "ring.pftrace")
    assert (tmp_path / "ring.pftrace").stat().st_size > 1000


def test_hexadecimal_columns_are_text() -> None:
    table = Table.from_csv("digest,n,x,wall_s\n1234567890123456,1,,0\n12345e7890123456,,2.5,\n")
    assert table["digest"] == ["1234567890123456", "12345e7890123456"]
    assert table["n"] == [1, None] and table["x"] == [None, 2.5] and table["wall_s"] == [0.0, None]
    assert str(table.to_pandas().dtypes["n"]) == "Int64"


def test_an_interrupt_ends_the_child(program: Program) -> None:
    code = f"import simrun; simrun.run({program('ring')!r}, platform={str(CLUSTER)!r}, args=['--rounds', 100000000])"
    python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, encoding="utf-8")

    children = Path(f"/proc/{python.pid}/task/{python.pid}/children")
    deadline = time.monotonic() + 30
    while not children.read_text():
        assert time.monotonic() < deadline and python.poll() is None
        time.sleep(0.05)
    child = int(children.read_text().split()[0])
    # It watches signals when it runs.
    time.sleep(0.5)
    python.send_signal(signal.SIGINT)
    _, errors = python.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
