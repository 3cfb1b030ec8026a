"""Tables of results, with the types of their columns."""

from __future__ import annotations

import csv
import html
import io
from typing import TYPE_CHECKING, Dict, Iterator, List, Sequence, Union

if TYPE_CHECKING:
    import pandas
    import polars

Value = Union[int, float, str, None]

# Rows of a table in a notebook at most.
ROWS_SHOWN = 20

# Columns of hexadecimal digits, which are text also where they look like numbers.
TEXT = frozenset({"digest", "key", "revision"})


class Table:
    """Columns of equal length, by name. A missing value is ``None``."""

    def __init__(self, columns: Dict[str, List[Value]]) -> None:
        self.columns = columns

    @classmethod
    def from_csv(cls, text: str) -> "Table":
        """Reads comma-separated values with a header.

        A column is of integers or floats if each value that is not empty is one, else of text. Times
        are floats.
        """
        rows = csv.reader(io.StringIO(text))
        names = next(rows, [])
        cells = list(rows)
        columns = {}
        for at, name in enumerate(names):
            columns[name] = _typed([row[at] for row in cells], _kinds(name))
        return cls(columns)

    def __len__(self) -> int:
        return max((len(values) for values in self.columns.values()), default=0)

    def __getitem__(self, column: str) -> List[Value]:
        return self.columns[column]

    def __iter__(self) -> Iterator[Dict[str, Value]]:
        for at in range(len(self)):
            yield {name: values[at] for name, values in self.columns.items()}

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

    def _repr_html_(self) -> str:
        """Returns the first rows for a notebook, without columns that have no value."""
        shown = {name: values for name, values in self.columns.items() if any(value is not None for value in values)}
        return as_html(list(shown), list(zip(*(values[:ROWS_SHOWN] for values in shown.values()))), len(self))

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame of pandas: int64 (Int64 with missing values), float64, string."""
        import pandas

        names = {int: "int64", float: "float64", str: "string"}
        series = {}
        for name, values in self.columns.items():
            dtype = names[_kind(values)]
            if dtype == "int64" and None in values:
                dtype = "Int64"
            series[name] = pandas.Series(values, dtype=dtype)
        return pandas.DataFrame(series)

    def to_polars(self) -> "polars.DataFrame":
        """Returns a data frame of polars: Int64, Float64, String."""
        import polars

        types = {int: polars.Int64, float: polars.Float64, str: polars.String}
        schema = {name: types[_kind(values)] for name, values in self.columns.items()}
        return polars.DataFrame(self.columns, schema=schema)


def as_html(names: Sequence[str], rows: Sequence[Sequence[Value]], count: int = 0) -> str:
    """Returns a table of HTML, numbers with six digits. ``count``: number of rows, if there are more."""

    def cell(value: Value) -> str:
        style = "left" if isinstance(value, str) else "right"
        text = f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
        return f'<td style="text-align: {style}">{html.escape(text)}</td>'

    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    more = f"<p>{count - len(rows)} more rows</p>" if count > len(rows) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _kind(values: Sequence[Value]) -> type:
    for kind in (str, float, int):
        if any(isinstance(value, kind) for value in values):
            return kind
    # Nothing but missing values.
    return float


def _kinds(name: str) -> Sequence[type]:
    """Returns the types other than text that a column may have."""
    if name in TEXT:
        return ()
    return (float,) if name.endswith("_s") else (int, float)


def _typed(cells: List[str], kinds: Sequence[type]) -> List[Value]:
    for kind in kinds:
        try:
            return [kind(cell) if cell else None for cell in cells]
        except ValueError:
            continue
    return [cell or None for cell in cells]
