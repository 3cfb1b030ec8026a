"""Tables of studies, read by pandas, polars and DuckDB: types, values, missing values."""

import json
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import duckdb
import pandas
import polars
import pytest

import simrun
from simrun._command import executable

TEXT = {"protocol", "outcome", "digest", "key", "revision"}
INTEGER = {"size", "seed"}
FLOAT = {"latency", "time_s", "messages", "wall_s"}
NAMES = ["protocol", "size", "latency", "seed", "outcome", "time_s", "messages", "digest", "key", "revision", "wall_s"]

# Half a second is far more than any of these runs; 1 KiB and 1 MiB at 12.5 GB/s.
TIMES = [1024 / 12.5e9 + 1e-6, 1024 / 12.5e9 + 2e-6, 2**20 / 12.5e9 + 1e-6, 2**20 / 12.5e9 + 2e-6]


def printed(study: simrun.Study, *options: str) -> str:
    command = [executable(), "study", "table", str(study.folder), *options]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def check_rows(rows: List[Dict[str, Any]]) -> None:
    assert [row["protocol"] for row in rows] == ["eager"] * 4 + ["rendezvous"] * 4
    assert [row["size"] for row in rows] == [1024, 1024, 2**20, 2**20] * 2
    assert [row["latency"] for row in rows] == [1e-6, 2e-6] * 4
    assert [row["outcome"] for row in rows] == ["finished"] * 4 + ["deadlock"] * 4
    assert [row["time_s"] for row in rows[4:]] == [None] * 4
    assert [row["messages"] for row in rows] == [2.0] * 4 + [None] * 4
    for row in rows:
        assert len(row["key"]) == 64 and len(row["digest"]) == 16


def test_pandas(study: simrun.Study) -> None:
    # Digests are text, also if all of a column look like numbers.
    hexadecimal = {"digest": "string", "key": "string", "revision": "string"}
    table = pandas.read_csv(study.folder / "table.csv", dtype=hexadecimal)
    assert list(table.columns) == NAMES
    for name in NAMES:
        kind = "int64" if name in INTEGER else "float64" if name in FLOAT else "str"
        found = str(table.dtypes[name])
        assert found == kind or (kind == "str" and found == "string"), name
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    check_rows([{str(key): value for key, value in row.items()} for row in rows])
    summary = pandas.read_csv(study.folder / "summary.csv")
    assert str(summary.dtypes["time_s_n"]) == "int64"
    assert str(summary.dtypes["time_s_mean"]) == "float64"
    assert list(summary["time_s_n"]) == [1] * 4 + [0] * 4
    assert list(summary["time_s_mean"].isna()) == [False] * 4 + [True] * 4


def test_polars(study: simrun.Study) -> None:
    table = polars.read_csv(study.folder / "table.csv", schema_overrides={"digest": polars.String})
    kinds = {name: polars.Int64 if name in INTEGER else polars.Float64 if name in FLOAT else polars.String for name in NAMES}
    assert dict(table.schema) == kinds
    check_rows(table.to_dicts())
    summary = polars.read_csv(study.folder / "summary.csv")
    assert summary.schema["time_s_mean"] == polars.Float64
    assert summary["time_s_mean"].null_count() == 4


def test_duckdb(study: simrun.Study) -> None:
    connection = duckdb.connect()
    table = connection.sql(f"from read_csv('{study.folder}/table.csv', types = {{'digest': 'VARCHAR'}})")
    kinds = ["BIGINT" if name in INTEGER else "DOUBLE" if name in FLOAT else "VARCHAR" for name in NAMES]
    assert [str(kind) for kind in table.types] == kinds
    check_rows([dict(zip(NAMES, row)) for row in table.fetchall()])
    summary = connection.sql(f"select count(*), count(time_s_mean) from read_csv('{study.folder}/summary.csv')")
    assert summary.fetchall() == [(8, 4)]


def test_parquet_by_the_command_of_the_guide(study: simrun.Study, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/studies.md").read_text("utf-8")
    line = next(line for line in guide.splitlines() if "read_json_auto" in line)
    command = line.strip().removeprefix("duckdb -c ").strip('"')
    command = command.replace("DIR", str(study.folder)).replace("results.parquet", str(tmp_path / "results.parquet"))
    duckdb.connect().execute(command)
    frame = polars.read_parquet(tmp_path / "results.parquet")
    assert frame.height == 8
    assert frame["key"].dtype == polars.String and frame["seed"].dtype == polars.Int64
    assert frame.filter(polars.col("outcome") == "deadlock").height == 4
    assert frame["key"].n_unique() == 8


def test_json(study: simrun.Study) -> None:
    rows = json.loads(printed(study, "--rows", "runs", "--json"))
    check_rows(rows)
    for row in rows:
        for name in NAMES:
            kinds = (int,) if name in INTEGER else (float, type(None)) if name in FLOAT else (str,)
            assert isinstance(row[name], kinds), (name, row[name])
    summary = json.loads(printed(study, "--json"))
    assert [row["time_s_mean"] is None for row in summary] == [False] * 4 + [True] * 4


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_of_the_package_have_the_same_types(study: simrun.Study, library: str) -> None:
    table = study.table()
    check_rows(list(table))
    if library == "pandas":
        frame = table.to_pandas()
        assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
            name: "int64" if name in INTEGER else "float64" if name in FLOAT else "string" for name in NAMES
        }
    else:
        assert dict(table.to_polars().schema) == {
            name: polars.Int64 if name in INTEGER else polars.Float64 if name in FLOAT else polars.String
            for name in NAMES
        }
