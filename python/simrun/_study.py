"""Studies: many runs of a program, at all points of a parameter space."""

from __future__ import annotations

import html
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._command import Error, PathLike, call, show
from ._run import Setting
from ._table import Table

# Ends of the names of columns of a summary that a notebook does not show.
_SPREAD = ("_n", "_low", "_high", "_min", "_median", "_q90", "_max", "_note")

Values = Union[str, Sequence[Setting]]


class Incomplete(Error):
    """Runs of a study failed or are pending; the text names them. Tables have all other results."""


class Study:
    """A study file and its folder (docs/studies.md), made from Python or opened.

    ``grid``, ``zip``: values of parameters, as lists or as ranges such as ``"1KiB..1MiB *2"``.
    ``arguments``, ``options``, ``set``, ``platform`` can have placeholders such as ``{size}``.
    A parameter that no placeholder uses is passed to the program as ``--NAME VALUE``. ``measure``:
    numbers, such as ``{"time": {"json": "simulated_s", "unit": "s"}}``, which is the default.
    ``precision``: relative half-width of the intervals, instead of a number of ``seeds``.
    ``folder``: for results; temporary by default, removed with this object.
    """

    def __init__(
        self,
        program: PathLike,
        *,
        platform: PathLike,
        grid: Optional[Mapping[str, Values]] = None,
        zip: Optional[Mapping[str, Sequence[Setting]]] = None,
        points: Sequence[Mapping[str, Setting]] = (),
        where: Optional[str] = None,
        arguments: Sequence[str] = (),
        options: Sequence[str] = (),
        set: Optional[Mapping[str, Setting]] = None,
        measure: Optional[Mapping[str, Mapping[str, str]]] = None,
        seeds: Optional[int] = None,
        precision: Optional[float] = None,
        limits: Optional[Mapping[str, Setting]] = None,
        folder: Optional[PathLike] = None,
    ) -> None:
        names: List[str] = [*(grid or {}), *(zip or {})]
        for point in points:
            names += [name for name in point if name not in names]
        used = json.dumps([*arguments, *options, str(platform), dict(set or {})])
        words = [word for name in names if f"{{{name}}}" not in used for word in (f"--{name}", f"{{{name}}}")]
        top: Dict[str, Any] = {
            "program": str(program),
            "platform": str(platform),
            "arguments": [*arguments, *words],
            "options": list(options),
        }
        if where is not None:
            top["where"] = where
        if points:
            top["points"] = [dict(point) for point in points]
        replicate = {"seeds": seeds, "precision": precision}
        tables: Dict[str, Mapping[str, Any]] = {
            "grid": grid or {},
            "zip": zip or {},
            "set": set or {},
            "replicate": {key: value for key, value in replicate.items() if value is not None},
            "limits": limits or {},
            "measure": measure or {"time": {"json": "simulated_s", "unit": "s"}},
        }
        text = "".join(f"{key} = {_toml(value)}\n" for key, value in top.items())
        for name, table in tables.items():
            if table:
                lines = (f"{_toml(key)} = {_toml(value)}\n" for key, value in table.items())
                text += f"\n[{name}]\n{''.join(lines)}"
        self._begin(text, folder)

    @classmethod
    def from_file(cls, file: PathLike, *, folder: Optional[PathLike] = None) -> "Study":
        """Returns the study of a study file."""
        study = cls.__new__(cls)
        study._begin(Path(file).read_text("utf-8"), folder)
        return study

    def _begin(self, text: str, folder: Optional[PathLike]) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="simrun-study-")
        self.file = Path(self._temporary.name) / "study.toml"
        self.file.write_text(text, "utf-8")
        self.folder = Path(folder) if folder is not None else Path(self._temporary.name) / "results"

    @property
    def toml(self) -> str:
        """The study file."""
        return self.file.read_text("utf-8")

    def run(self, *, jobs: Optional[int] = None, progress: bool = True) -> "Study":
        """Runs what has no result yet, and returns this study.

        Ctrl-C keeps the results so far; a second call continues. Progress is a counter of runs if
        ``tqdm`` is installed, else lines on standard error.
        Raises ``Incomplete`` if runs failed.
        """
        command = ["study", "run", str(self.file), "--out", str(self.folder)]
        if jobs is not None:
            command += ["--jobs", str(jobs)]
        with _Progress(self, visible=progress) as bar:
            ended = call(command, on_line=bar.line, on_second=bar.count)
        if ended.status != 0:
            raise Incomplete(ended.stdout.strip() or ended.stderr.strip())
        return self

    def table(self) -> Table:
        """Returns the results with a row per run."""
        return self._table("runs")

    def summary(self) -> Table:
        """Returns the results with a row per point: means, intervals, quantiles."""
        return self._table("points")

    def _repr_html_(self) -> str:
        """Returns the means of the points for a notebook, or the study file without results."""
        if not self._runs_done():
            return f"<pre>{html.escape(self.toml)}</pre>"
        columns = self.summary().columns
        # A parameter may have such an end, too, but no mean beside it.
        hidden = {f"{name[:-5]}{end}" for name in columns if name.endswith("_mean") for end in _SPREAD}
        return Table({name: values for name, values in columns.items() if name not in hidden})._repr_html_()

    def _runs_done(self) -> int:
        return sum(file.read_bytes().count(b"\n") for file in self.folder.glob("results/*.jsonl"))

    def _table(self, rows: str) -> Table:
        return Table.from_csv(call(["study", "table", str(self.folder), "--rows", rows, "--csv"]).stdout)


class _Progress:
    """Progress of a study: a counter of ``tqdm`` if that is installed, else lines.

    The counter has no total, since a precision decides about the number of runs on the way.
    """

    def __init__(self, study: Study, *, visible: bool) -> None:
        self._study = study
        self._visible = visible
        self._done = study._runs_done()
        self._bar: Any = None

    def __enter__(self) -> "_Progress":
        if self._visible:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return self
            self._bar = tqdm(unit=" runs", initial=self._done)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self.count()
            self._bar.close()

    def line(self, text: str) -> None:
        """Takes a line of standard error of the study."""
        if self._bar is not None:
            self._bar.write(text.rstrip("\n"), file=sys.stderr)
        elif self._visible:
            show(text)

    def count(self) -> None:
        """Shows the number of runs that have a result."""
        done = self._study._runs_done()
        if done != self._done and self._bar is not None:
            self._bar.update(done - self._done)
        elif done != self._done and self._visible:
            show(f"{done} runs done")
        self._done = done


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, (str, bool)):
        # Strings of JSON are strings of TOML, but for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
