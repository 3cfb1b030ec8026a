"""Programs of the tests: built executables beside ``$SIMRUN``."""

import os
from pathlib import Path
from typing import Callable

import pytest

import simrun

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "platforms/cluster.toml"


@pytest.fixture(scope="session")
def program() -> Callable[[str], str]:
    folder = Path(os.environ["SIMRUN_PROGRAMS"])

    def find(name: str) -> str:
        path = folder / name
        assert path.is_file(), f"{path}: expected a built program"
        return str(path)

    return find


@pytest.fixture(scope="session")
def study(program: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory) -> simrun.Study:
    """Eight points, of which four deadlock, so that their measures are missing."""
    made = simrun.Study(
        program("two-senders"),
        platform=CLUSTER,
        grid={"protocol": ["eager", "rendezvous"], "size": ["1KiB", "1MiB"], "latency": ["1us", "2us"]},
        arguments=["--size", "{size}"],
        options=["-n", "2", "--protocol", "{protocol}"],
        set={"clusters.nodes.latency": "{latency}"},
        measure={
            "time": {"json": "simulated_s", "unit": "s"},
            "messages": {"json": "messages"},
        },
        folder=tmp_path_factory.mktemp("study") / "results",
    )
    with pytest.raises(simrun.Incomplete, match="(?s)4 of 8 points complete.*deadlock"):
        made.run(jobs=2, progress=False)
    return made
