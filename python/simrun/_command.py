"""The executable: its place, and runs of it that end with an exception or Ctrl-C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable, List, Optional, Sequence, Union

PathLike = Union[str, "os.PathLike[str]"]

# Exit statuses of simrun.
USAGE = 2
LIMIT = 3
INTERRUPTED = 130

# Time in seconds that an interrupted command has to end by itself: a study ends its runs within 10.
PATIENCE = 12.0


class Error(Exception):
    """A failure of simrun, or of a program under simulation."""


class InputError(Error):
    """A mistake in a command, a platform file or a study file; the text says where."""


@dataclass(frozen=True)
class Ended:
    """The end of a command."""

    status: int
    stdout: str
    stderr: str


def executable() -> str:
    """Returns the path of ``simrun``.

    It is ``$SIMRUN`` if set, else the one that was installed with this package, else the one on
    ``PATH``.
    """
    chosen = os.environ.get("SIMRUN")
    if chosen:
        return chosen
    here = Path(__file__).resolve().parent
    folders: List[PathLike] = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", f"{os.name}_user"),
        # pip install --target DIR
        here.parent / "bin",
        # pip install --prefix DIR: DIR/lib/pythonX.Y/site-packages/simrun
        *(parent / "bin" for parent in list(here.parents)[3:4]),
    ]
    for folder in folders:
        found = Path(folder) / "simrun"
        if found.is_file():
            return str(found)
    on_path = shutil.which("simrun")
    if on_path:
        return on_path
    raise Error("there is no executable simrun: expected it beside this package, on PATH, or in $SIMRUN")


def call(
    arguments: Sequence[str],
    *,
    cwd: Optional[PathLike] = None,
    on_line: Optional[Callable[[str], None]] = None,
    on_second: Optional[Callable[[], None]] = None,
) -> Ended:
    """Runs ``simrun`` to its end. An exception such as Ctrl-C interrupts it, then kills it.

    ``on_line`` gets each line of standard error as it comes; ``on_second`` is called once per
    second.

    Raises ``InputError`` for bad input and ``KeyboardInterrupt`` if the command was interrupted.
    """
    child = subprocess.Popen(
        [executable(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        encoding="utf-8",
        errors="replace",
        # Ctrl-C of a terminal reaches this process alone, as in a notebook.
        start_new_session=True,
    )
    assert child.stdout is not None and child.stderr is not None
    out: List[str] = []
    err: List[str] = []

    def read_errors(stream: IO[str]) -> None:
        for line in stream:
            err.append(line)
            if on_line is not None:
                on_line(line)

    readers = [
        threading.Thread(target=lambda stream: out.append(stream.read()), args=(child.stdout,)),
        threading.Thread(target=read_errors, args=(child.stderr,)),
    ]
    for reader in readers:
        reader.start()
    try:
        while True:
            try:
                status = child.wait(timeout=1.0)
                break
            except subprocess.TimeoutExpired:
                if on_second is not None:
                    on_second()
    except BaseException:
        _end(child)
        raise
    finally:
        for reader in readers:
            reader.join()
        child.stdout.close()
        child.stderr.close()
    ended = Ended(status, "".join(out), "".join(err))
    if status == USAGE:
        raise InputError(_without_prefix(ended.stderr))
    if status == INTERRUPTED:
        raise KeyboardInterrupt
    if status < 0:
        name = signal.Signals(-status).name
        raise Error(f"simrun was ended by {name}\n{ended.stderr}".rstrip())
    return ended


def _end(child: "subprocess.Popen[str]") -> None:
    """Interrupts a child and all that it has started; kills what does not end."""
    for signum, patience in ((signal.SIGINT, PATIENCE), (signal.SIGKILL, None)):
        try:
            os.killpg(child.pid, signum)
        except ProcessLookupError:
            pass
        try:
            child.wait(timeout=patience)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            # A second Ctrl-C kills.
            continue


def show(line: str) -> None:
    """Writes a line of progress to standard error, in a notebook too."""
    print(line.rstrip("\n"), file=sys.stderr, flush=True)


def _without_prefix(text: str) -> str:
    text = text.strip()
    return text[len("error: ") :] if text.startswith("error: ") else text
