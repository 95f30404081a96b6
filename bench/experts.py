"""Statements that an expert would write by hand to keep queries of TPC-H fresh.

The expert reads the changes of both tables once, netted, keeps them in memory, knows the ranges of
the keys in them, and merges sums and counts where that is exact. Written for any change of orders
and lines, not only for new and deleted orders, and not changed when the product is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Expert:
    """One query by hand.

    Attributes:
        lines, orders: the columns of the changes it needs.
        table: the table it keeps.
        merge: the statement. `{dl}` and `{do}` are the changes with their weight `w`, `{l_old}`,
            `{l_new}`, `{o_old}`, `{o_new}` the tables before and after, `{l_in}` and `{o_in}` tests
            that a key lies in the ranges of the changes.
    """

    lines: str
    orders: str
    table: str
    merge: str


_REVENUE = "l_extendedprice * (1 - l_discount)"
_Q1_SUMS = {
    "sum_qty": "l_quantity",
    "sum_base_price": "l_extendedprice",
    "sum_disc_price": _REVENUE,
    "sum_charge": f"{_REVENUE} * (1 + l_tax)",
    "sum_disc": "l_discount",
}


def _joined(columns: str, more: str, test: str) -> str:
    """Changes of the join of both tables: of lines with new orders, of orders with old lines."""
    return (
        f"SELECT {columns}, w FROM {{dl}} JOIN {{o_new}} ON l_orderkey = o_orderkey {more} "
        f"WHERE {{o_in}} AND {test} UNION ALL "
        f"SELECT {columns}, w FROM {{do}} JOIN {{l_old}} ON l_orderkey = o_orderkey {more} "
        f"WHERE {{l_in}} AND {test}"
    )


def _sums(keys: tuple[str, ...], sums: dict[str, str], changes: str, table: str) -> str:
    """Add the sums of the changes to those that are stored."""
    listed = ", ".join(keys)
    items = ", ".join(f"SUM(w * ({e})) AS {n}" for n, e in sums.items())
    on = " AND ".join(f"t.{k} = c.{k}" for k in keys)
    sets = ", ".join(f"{n} = t.{n} + c.{n}" for n in (*sums, "n"))
    return (
        f"MERGE INTO {table} t USING (SELECT {listed}, {items}, SUM(w) AS n FROM ({changes}) "
        f"GROUP BY {listed} HAVING SUM(w) <> 0 OR {' OR '.join(f'{n} <> 0' for n in sums)}) c "
        f"ON {on} WHEN MATCHED AND t.n + c.n = 0 THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {sets} WHEN NOT MATCHED THEN INSERT *"
    )


def _whole(keys: tuple[str, ...], sums: dict[str, str], rows: str, table: str) -> str:
    items = ", ".join(f"SUM({e}) AS {n}" for n, e in sums.items())
    listed = ", ".join(keys)
    return (
        f"CREATE TABLE {table} USING iceberg AS "
        f"SELECT {listed}, {items}, COUNT(*) AS n FROM {rows} GROUP BY {listed}"
    )


_Q3 = (
    "c_mktsegment = 'BUILDING' AND o_orderdate < DATE'1995-03-15' AND l_shipdate > DATE'1995-03-15'"
)
_Q3_KEYS = ("l_orderkey", "o_orderdate", "o_shippriority")
_Q5 = (
    "c_nationkey = s_nationkey AND r_name = 'ASIA' AND o_orderdate >= DATE'1994-01-01' "
    "AND o_orderdate < DATE'1995-01-01'"
)
_Q5_MORE = (
    "JOIN customer ON c_custkey = o_custkey JOIN supplier ON s_suppkey = l_suppkey "
    "JOIN nation ON n_nationkey = s_nationkey JOIN region ON r_regionkey = n_regionkey"
)
_Q10 = "o_orderdate >= DATE'1993-10-01' AND o_orderdate < DATE'1994-01-01' AND l_returnflag = 'R'"
_Q10_KEYS = ("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
_Q10_MORE = "JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey"
_Q12 = (
    "l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
    "AND l_receiptdate >= DATE'1994-01-01' AND l_receiptdate < DATE'1995-01-01'"
)
_Q12_SUMS = {
    "high_line_count": "IF(o_orderpriority IN ('1-URGENT', '2-HIGH'), 1, 0)",
    "low_line_count": "IF(o_orderpriority IN ('1-URGENT', '2-HIGH'), 0, 1)",
}
_BOTH = "lineitem JOIN orders ON l_orderkey = o_orderkey"


def _counts(orders: str) -> str:
    """Orders of each changed customer."""
    return (
        "SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer "
        "JOIN (SELECT DISTINCT o_custkey AS k FROM {do}) ON c_custkey = k "
        f"LEFT JOIN {orders} ON c_custkey = o_custkey "
        "AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey"
    )


EXPERTS = {
    "q01": Expert(
        "l_returnflag, l_linestatus, l_quantity, l_extendedprice, l_discount, l_tax, l_shipdate",
        "",
        _whole(
            ("l_returnflag", "l_linestatus"),
            _Q1_SUMS,
            "lineitem WHERE l_shipdate <= DATE'1998-09-02'",
            "peer_q01",
        ),
        _sums(
            ("l_returnflag", "l_linestatus"),
            _Q1_SUMS,
            "SELECT * FROM {dl} WHERE l_shipdate <= DATE'1998-09-02'",
            "peer_q01",
        ),
    ),
    "q03": Expert(
        "l_orderkey, l_extendedprice, l_discount, l_shipdate",
        "o_orderkey, o_custkey, o_orderdate, o_shippriority",
        _whole(
            _Q3_KEYS,
            {"revenue": _REVENUE},
            f"{_BOTH} JOIN customer ON c_custkey = o_custkey WHERE {_Q3}",
            "peer_q03",
        ),
        _sums(
            _Q3_KEYS,
            {"revenue": _REVENUE},
            _joined(
                f"{', '.join(_Q3_KEYS)}, l_extendedprice, l_discount",
                "JOIN customer ON c_custkey = o_custkey",
                _Q3,
            ),
            "peer_q03",
        ),
    ),
    "q05": Expert(
        "l_orderkey, l_suppkey, l_extendedprice, l_discount",
        "o_orderkey, o_custkey, o_orderdate",
        _whole(("n_name",), {"revenue": _REVENUE}, f"{_BOTH} {_Q5_MORE} WHERE {_Q5}", "peer_q05"),
        _sums(
            ("n_name",),
            {"revenue": _REVENUE},
            _joined("n_name, l_extendedprice, l_discount", _Q5_MORE, _Q5),
            "peer_q05",
        ),
    ),
    "q10": Expert(
        "l_orderkey, l_extendedprice, l_discount, l_returnflag",
        "o_orderkey, o_custkey, o_orderdate",
        _whole(_Q10_KEYS, {"revenue": _REVENUE}, f"{_BOTH} {_Q10_MORE} WHERE {_Q10}", "peer_q10"),
        _sums(
            _Q10_KEYS,
            {"revenue": _REVENUE},
            _joined(f"{', '.join(_Q10_KEYS)}, l_extendedprice, l_discount", _Q10_MORE, _Q10),
            "peer_q10",
        ),
    ),
    "q12": Expert(
        "l_orderkey, l_shipmode, l_commitdate, l_receiptdate, l_shipdate",
        "o_orderkey, o_orderpriority",
        _whole(("l_shipmode",), _Q12_SUMS, f"{_BOTH} WHERE {_Q12}", "peer_q12"),
        _sums(
            ("l_shipmode",), _Q12_SUMS, _joined("l_shipmode, o_orderpriority", "", _Q12), "peer_q12"
        ),
    ),
    "q13": Expert(
        "",
        "o_orderkey, o_custkey, o_comment",
        "CREATE TABLE peer_q13 USING iceberg AS SELECT c_count, COUNT(*) AS custdist FROM ("
        "SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer LEFT JOIN orders "
        "ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' "
        "GROUP BY c_custkey) GROUP BY c_count",
        "MERGE INTO peer_q13 t USING (SELECT c_count, SUM(w) AS d FROM ("
        f"SELECT c_count, 1 AS w FROM ({_counts('{o_new}')}) UNION ALL "
        f"SELECT c_count, -1 AS w FROM ({_counts('{o_old}')})) "
        "GROUP BY c_count HAVING SUM(w) <> 0) c ON t.c_count = c.c_count "
        "WHEN MATCHED AND t.custdist + c.d = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET custdist = t.custdist + c.d "
        "WHEN NOT MATCHED THEN INSERT (c_count, custdist) VALUES (c.c_count, c.d)",
    ),
    "q18": Expert(
        "l_orderkey, l_quantity",
        "o_orderkey, o_custkey, o_orderdate, o_totalprice",
        "CREATE TABLE peer_q18 USING iceberg AS SELECT c_name, c_custkey, o_orderkey, o_orderdate, "
        f"o_totalprice, SUM(l_quantity) AS quantity FROM {_BOTH} "
        "JOIN customer ON c_custkey = o_custkey "
        "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice "
        "HAVING SUM(l_quantity) > 300",
        "MERGE INTO peer_q18 t USING (SELECT k, c_name, c_custkey, o_orderdate, o_totalprice, "
        "quantity FROM (SELECT l_orderkey AS k FROM {dl} UNION SELECT o_orderkey FROM {do}) "
        "LEFT JOIN (SELECT o_orderkey, c_name, c_custkey, o_orderdate, o_totalprice, "
        "SUM(l_quantity) AS quantity FROM {l_new} JOIN {o_new} ON l_orderkey = o_orderkey "
        "JOIN customer ON c_custkey = o_custkey WHERE {l_in} AND {o_in} "
        "GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice "
        "HAVING SUM(l_quantity) > 300) ON o_orderkey = k) c ON t.o_orderkey = c.k "
        "WHEN MATCHED AND c.quantity IS NULL THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET quantity = c.quantity, o_totalprice = c.o_totalprice, "
        "o_orderdate = c.o_orderdate, c_custkey = c.c_custkey, c_name = c.c_name "
        "WHEN NOT MATCHED AND c.quantity IS NOT NULL THEN INSERT "
        "(c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, quantity) "
        "VALUES (c.c_name, c.c_custkey, c.k, c.o_orderdate, c.o_totalprice, c.quantity)",
    ),
}
