"""Writes the tables of TPC-H as Parquet files in the order of their keys.

    python tpch_make.py SCALE FOLDER

Runs in a process of its own, with a DuckDB in its path that has the generator built in.
"""

import sys
from pathlib import Path

import duckdb

KEYS = {
    "region": "r_regionkey",
    "nation": "n_nationkey",
    "supplier": "s_suppkey",
    "customer": "c_custkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "orders": "o_orderkey",
    "lineitem": "l_orderkey, l_linenumber",
}
FILES = {"lineitem": 32, "orders": 8, "partsupp": 4, "part": 2, "customer": 2}


def main(scale: float, folder: Path) -> None:
    con = duckdb.connect()
    con.execute(f"CALL dbgen(sf = {scale})")
    for table, keys in KEYS.items():
        first, count = keys.split(",")[0], FILES.get(table, 1)
        low, high = con.execute(f"SELECT MIN({first}), MAX({first}) + 1 FROM {table}").fetchone()
        place = folder / table
        place.mkdir(parents=True)
        for number in range(count):
            start = low + (high - low) * number // count
            end = low + (high - low) * (number + 1) // count
            con.execute(
                f"COPY (SELECT * FROM {table} WHERE {first} >= {start} AND {first} < {end} "
                f"ORDER BY {keys}) TO '{place / f'{number:02}.parquet'}' (FORMAT parquet, "
                "COMPRESSION zstd)"
            )


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]))
