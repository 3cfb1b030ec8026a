"""Platforms and studies from Python."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

import simrun

from conftest import CLUSTER, ROOT

Program = Callable[[str], str]


def test_hosts_and_routes() -> None:
    platform = simrun.Platform(CLUSTER)
    assert platform.network_model == "flow"
    assert len(platform.hosts) == 64 and platform.hosts[5].name == "node-5"
    route = platform.route("node-0", "node-5")
    assert [link.name for link in route.links] == ["node-0:up", "node-5:down"]
    assert route.latency == pytest.approx(1.25e-6)
    assert route.bandwidth == 12.5e9
    assert platform.time("node-0", "node-5", 2**20) == pytest.approx(1.25e-6 + 2**20 / 12.5e9)
    with pytest.raises(simrun.InputError, match='unknown host "node-99"; did you mean'):
        platform.route("node-0", "node-99")


def test_the_time_is_that_of_a_run(program: Program) -> None:
    platform = simrun.Platform(CLUSTER, set={"clusters.nodes.latency*": 2})
    run = simrun.run(program("ring"), platform=CLUSTER, ranks=2, set={"clusters.nodes.latency*": 2})
    assert 2 * platform.time("node-0", "node-1", 1024) == pytest.approx(run.time)


def test_other_models_have_no_time() -> None:
    platform = simrun.Platform(ROOT / "platforms/loggops.toml")
    with pytest.raises(ValueError, match="the network model is 'loggops': expected 'flow'"):
        platform.time(platform.hosts[0].name, platform.hosts[1].name, 1)


def test_a_study_continues_where_it_was(program: Program, tmp_path: Path) -> None:
    def study() -> simrun.Study:
        return simrun.Study(
            program("ring"),
            platform=CLUSTER,
            grid={"size": "1KiB..4KiB *2", "ranks": [4, 8]},
            options=["-n", "{ranks}"],
            seeds=3,
            folder=tmp_path / "results",
        )

    first = study().run(progress=False).table()
    # No random number is drawn, so one seed is enough.
    assert first["size"] == [1024, 1024, 2048, 2048, 4096, 4096]
    assert first["ranks"] == [4, 8] * 3
    again = study().run(progress=False)
    # Real times show that nothing was run again.
    assert again.table()["wall_s"] == first["wall_s"]
    summary = again.summary().to_polars()
    assert summary["time_s_note"].to_list() == ["deterministic"] * 6
    assert summary["time_s_mean"][0] == pytest.approx(4 * (1.25e-6 + 1024 / 12.5e9))


def test_an_interrupted_study_keeps_its_results(program: Program, tmp_path: Path) -> None:
    made = (
        f"simrun.Study({program('ring')!r}, platform={str(CLUSTER)!r}, grid={{'rounds': '2000..2019 +1'}}, "
        f"folder={str(tmp_path / 'results')!r})"
    )
    code = f"import simrun; {made}.run(jobs=1)"
    python = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, encoding="utf-8")

    def results() -> int:
        return sum(file.read_bytes().count(b"\n") for file in tmp_path.glob("results/results/*.jsonl"))

    deadline = time.monotonic() + 30
    while results() == 0:
        assert time.monotonic() < deadline and python.poll() is None
        time.sleep(0.01)
    python.send_signal(signal.SIGINT)
    _, errors = python.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert 0 < results() < 20
    study = simrun.Study(
        program("ring"), platform=CLUSTER, grid={"rounds": "2000..2019 +1"}, folder=tmp_path / "results"
    )
    assert len(study.run(progress=False).table()) == 20
    assert results() == 20


def test_mistakes_of_a_study_are_told(program: Program) -> None:
    study = simrun.Study(program("ring"), platform=CLUSTER, grid={"size": ["1KiB"]}, where="sise > 1")
    with pytest.raises(simrun.InputError, match="sise"):
        study.run(progress=False)


def test_ready_studies_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    text = (ROOT / "studies/pingpong.toml").read_text("utf-8")
    file = tmp_path / "pingpong.toml"
    file.write_text(text.replace("apps/pingpong", program("pingpong")), "utf-8")
    monkeypatch.chdir(ROOT)
    summary = simrun.Study.from_file(file).run(progress=False).summary()
    assert len(summary) == 24
    assert summary["half_round_trip_us_mean"][0] == pytest.approx(1.001, abs=1e-3)


def test_a_parameter_may_have_the_end_of_a_spread(study: simrun.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = simrun.Table({"ranks_n": [2], "time_s_n": [1], "time_s_mean": [0.5]})
    monkeypatch.setattr(study, "summary", lambda: summary)
    shown = study._repr_html_()
    assert "<th>ranks_n</th>" in shown and "time_s_mean" in shown and "time_s_n" not in shown


def test_a_study_shows_its_means_in_a_notebook(study: simrun.Study, program: Program) -> None:
    shown = study._repr_html_()
    assert "<th>time_s_mean</th>" in shown and "time_s_q90" not in shown
    unfinished = simrun.Study(program("two-senders"), platform=CLUSTER, grid={"size": ["1KiB"]})
    assert unfinished._repr_html_().startswith("<pre>program = ")
