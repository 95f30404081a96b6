"""Prints the TPC-H and TPC-DS queries and schemas of a DuckDB that has both built in, as JSON.

Runs in a process of its own, with that DuckDB in its path: the tests use a newer one.
"""

import json
import sys

import duckdb


def main() -> None:
    found = {}
    for name, generate in (("tpch", "dbgen"), ("tpcds", "dsdgen")):
        con = duckdb.connect()
        con.execute(f"CALL {generate}(sf = 0)")
        columns = con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
        ).fetchall()
        schemas: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in columns:
            schemas.setdefault(table, []).append((column, kind))
        queries = con.execute(f"SELECT query_nr, query FROM {name}_queries()").fetchall()
        found[name] = {"schemas": schemas, "queries": dict(queries)}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
