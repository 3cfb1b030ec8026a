"""One simulation, its result, and its analyses."""

from __future__ import annotations

import html
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._command import Ended, Error, PathLike, call
from ._table import Table, as_html

Setting = Union[str, int, float, bool]


def settings(changes: Optional[Mapping[str, Setting]]) -> List[str]:
    """Returns the options for changes of a platform."""
    return [word for path, value in (changes or {}).items() for word in ("--set", f"{path}={text(value)}")]


def text(value: Setting) -> str:
    """Returns a value as a command line or a platform file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Blocked:
    """A rank that waits for ever."""

    rank: int
    name: str
    host: str
    operation: str
    location: str
    waits_for: Tuple[int, ...]


@dataclass(frozen=True)
class Result:
    """The result of a simulation."""

    time: float
    """Simulated time at the end, in seconds."""
    digest: Optional[str]
    """Fingerprint of the run: equal runs have equal ones."""
    outcome: str
    """``finished``, ``deadlock``, ``failed`` or ``limit``."""
    stdout: str
    """Lines that the program has printed, and warnings of simrun."""
    record: Dict[str, Any]
    """All facts, as ``simrun --format json`` prints them."""
    command: Tuple[str, ...] = field(repr=False)
    cwd: Optional[PathLike] = field(repr=False)

    def analyse(self) -> "Analysis":
        """Runs the program again, with all analyses. Runs are reproducible, so it is the same run."""
        with tempfile.TemporaryDirectory(prefix="simrun-") as folder:
            self._again(f"--analyse={folder}")
            path = Path(folder)
            tables = {file.stem: Table.from_csv(file.read_text("utf-8")) for file in sorted(path.glob("*.csv"))}
            summary = json.loads((path / "analysis.json").read_text("utf-8"))
            return Analysis(summary, tables, (path / "report.html").read_text("utf-8"))

    def trace(self, path: PathLike) -> None:
        """Runs the program again, and writes its timeline for Perfetto."""
        self._again("--trace", str(Path(path).absolute()))

    def _repr_html_(self) -> str:
        """Returns the facts of the run for a notebook."""
        facts = [
            ("outcome", self.outcome),
            ("simulated time", f"{self.time:.6g} s"),
            ("ranks", self.record.get("ranks")),
            ("digest", self.digest),
        ]
        return as_html(["simrun", ""], [fact for fact in facts if fact[1] is not None])

    def _again(self, *options: str) -> None:
        ended = call([*self.command[:1], *options, *self.command[1:]], cwd=self.cwd)
        digest = _record(ended).get("digest")
        if digest != self.digest:
            raise Error(f"the program ran differently: digest {digest}, expected {self.digest}: is it random by itself?")


class Failed(Error):
    """A run that did not finish. ``result`` has what is known of it."""

    def __init__(self, message: str, result: Result) -> None:
        super().__init__(message)
        self.result = result


class Deadlock(Failed):
    """Ranks that wait for ever. The text is the table of them; ``blocked`` has the rows."""

    def __init__(self, result: Result, blocked: Sequence[Blocked]) -> None:
        self.blocked = tuple(blocked)
        rows = [("rank", "host", "waits in", "at", "for")]
        for wait in blocked:
            ranks = ", ".join(map(str, wait.waits_for))
            rows.append((wait.name, wait.host, wait.operation, wait.location, ranks))
        widths = [max(len(row[at]) for row in rows) for at in range(5)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        super().__init__("\n".join([f"deadlock: {len(blocked)} ranks or actors blocked", *lines]), result)


class LimitReached(Failed):
    """A limit such as ``--max-time`` ended the run."""


@dataclass(frozen=True)
class Analysis:
    """Analyses of a run (docs/analysis.md): tables by name, also as attributes."""

    summary: Dict[str, Any]
    """The contents of ``analysis.json``."""
    tables: Dict[str, Table]
    html: str = field(repr=False)
    """The report as one page."""

    def _repr_html_(self) -> str:
        """Returns the report as a frame of a notebook, in which its scripts and links work."""
        return (
            '<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: 40rem; border: 0" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __getattr__(self, name: str) -> Table:
        tables: Dict[str, Table] = self.__dict__.get("tables", {})
        if name in tables:
            return tables[name]
        raise AttributeError(f"there is no table {name!r}: expected one of {', '.join(tables)}")


def run(
    app: PathLike,
    *,
    platform: PathLike,
    ranks: Optional[int] = None,
    seed: int = 0,
    set: Optional[Mapping[str, Setting]] = None,
    args: Sequence[Union[str, int, float]] = (),
    options: Sequence[str] = (),
    cwd: Optional[PathLike] = None,
) -> Result:
    """Simulates a program.

    ``app``: a built program, or the folder of its package, which ``cargo`` builds first.
    ``set``: changes of the platform: ``{"clusters.nodes.latency*": 0.5}`` is
    ``--set clusters.nodes.latency*=0.5``. ``args``: arguments of the program. ``options``: more
    options of simrun, such as ``["--protocol", "rendezvous"]``.

    Raises ``Deadlock``, ``LimitReached`` or ``Failed`` if the run does not finish, ``InputError``
    for bad input.
    """
    command = ["run", "--quiet", "--format", "json", "--platform", str(platform), "--seed", str(seed)]
    if ranks is not None:
        command += ["--ranks", str(ranks)]
    command += [*settings(set), *options, str(app), "--", *map(str, args)]
    ended = call(command, cwd=cwd)
    record = _record(ended)
    result = Result(
        time=record["simulated_s"],
        digest=record.get("digest"),
        outcome=record["outcome"],
        stdout=ended.stderr,
        record=record,
        command=tuple(command),
        cwd=cwd,
    )
    if result.outcome == "finished":
        return result
    if result.outcome == "deadlock":
        raise Deadlock(result, [_blocked(wait) for wait in record.get("deadlock", [])])
    if result.outcome == "limit":
        raise LimitReached(f"stopped at the limit {record.get('limit')}", result)
    if result.outcome == "interrupted":
        raise KeyboardInterrupt
    failure = record.get("failure") or {}
    where = f"rank {failure.get('rank')} on host {failure.get('host')} at {failure.get('time_s')} s"
    raise Failed(f"{where}: {failure.get('message')}" if failure else ended.stderr.strip(), result)


def _blocked(wait: Dict[str, Any]) -> Blocked:
    return Blocked(
        rank=wait["rank"],
        name=wait["name"],
        host=wait["host"],
        operation=wait["operation"],
        location=wait["location"],
        waits_for=tuple(wait["waits_for"]),
    )


def _record(ended: Ended) -> Dict[str, Any]:
    """Returns the record at the end of standard output, behind what the program printed there."""
    begin = 0 if ended.stdout.startswith("{\n") else ended.stdout.rfind("\n{\n") + 1
    try:
        record = json.loads(ended.stdout[begin:])
    except ValueError:
        reason = ended.stderr.strip() or f"exit status {ended.status}"
        raise Error(f"simrun printed no record: {reason}") from None
    assert isinstance(record, dict)
    return record
