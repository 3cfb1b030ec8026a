"""Simulations of message-passing programs, by the executable ``simrun``.

A program is written in Rust with the crate ``simrun``. This package runs programs, reads results
as typed data, and runs studies. It has no dependency; ``to_pandas`` and ``to_polars`` need those
packages.
"""

from ._command import Error, InputError
from ._platform import Host, Link, Platform, Route
from ._run import Analysis, Blocked, Deadlock, Failed, LimitReached, Result, run
from ._study import Incomplete, Study
from ._table import Table

__all__ = [
    "Analysis",
    "Blocked",
    "Deadlock",
    "Error",
    "Failed",
    "Host",
    "Incomplete",
    "InputError",
    "LimitReached",
    "Link",
    "Platform",
    "Result",
    "Route",
    "Study",
    "Table",
    "run",
]
