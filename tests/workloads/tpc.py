"""TPC-H and TPC-DS: schemas and query texts, fetched from an older DuckDB that has them built in.

The texts are not part of this repository. The first use installs that DuckDB below `build/`, beside
the one the tests run on, and keeps what it exports.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sqlglot
from delta_harness import Tables
from sqlglot import exp

from headwater.sql.define import define

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build" / "workloads"


@dataclass(frozen=True)
class Workload:
    """Tables with their columns as `name type, ...`, and queries of Spark SQL by name."""

    name: str
    schemas: dict[str, str]
    texts: dict[str, str]

    def query(self, name: str) -> str:
        """The query; where it has LIMIT, ordered by all of its columns at last."""
        return _with_total_order(self.texts[name], Tables(self.schemas))

    def whole(self, name: str) -> str:
        """The query with all of its rows."""
        return _without_limit(self.texts[name])


@cache
def tpch() -> Workload:
    """The 22 queries of TPC-H."""
    return _workload("tpch")


@cache
def tpcds() -> Workload:
    """The 99 queries of TPC-DS."""
    return _workload("tpcds")


def _workload(name: str) -> Workload:
    found = _exported()[name]
    schemas = {
        table: ", ".join(f"{column} {_spark_type(kind)}" for column, kind in columns)
        for table, columns in found["schemas"].items()
    }
    texts = {f"q{int(n):02}": _spark_text(text) for n, text in found["queries"].items()}
    return Workload(name, schemas, texts)


def _spark_type(kind: str) -> str:
    return exp.DataType.build(kind, dialect="duckdb").sql("spark").lower()


def _spark_text(text: str) -> str:
    return sqlglot.transpile(text, read="duckdb", write="spark")[0]


def _with_total_order(text: str, lookup: Tables) -> str:
    """LIMIT can then cut in one place only: rows that tie are equal."""
    tree = sqlglot.parse_one(text, read="spark")
    if tree.args.get("limit") is None:
        return text
    width = len(define(_without_limit(text), lookup).output)
    order = tree.args.get("order") or exp.Order(expressions=[])
    places = [exp.Ordered(this=exp.Literal.number(i + 1)) for i in range(width)]
    tree.set("order", exp.Order(expressions=[*order.expressions, *places]))
    return tree.sql("spark")


def _without_limit(text: str) -> str:
    tree = sqlglot.parse_one(text, read="spark")
    for clause in ("limit", "order"):
        tree.set(clause, None)
    return tree.sql("spark")


@cache
def _exported() -> dict[str, dict]:
    BUILD.mkdir(parents=True, exist_ok=True)
    kept = BUILD / "tpc.json"
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            made = kept.with_suffix(".new")
            made.write_text(_export())
            made.rename(kept)
    return json.loads(kept.read_text())


def _export() -> str:
    """What the old DuckDB prints; it is installed first."""
    folder = BUILD / "duckdb"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "-r",
        str(HERE / "tpc_requirements.txt"),
    ]
    subprocess.run([*install, "--upgrade", "--target", str(folder), *wanted], check=True)
    done = subprocess.run(
        [sys.executable, str(HERE / "tpc_export.py")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
