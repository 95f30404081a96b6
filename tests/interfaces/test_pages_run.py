"""Every Python and SQL block of the pages runs on a real hub, in the order of the page."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import headwater
from headwater.sql.statements import split_statements
from shared_spark import Place

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SIGNATURE = re.compile(r"^(?:headwater\.connect\(path|hub\.\w+ -> |.*\) -> )", re.MULTILINE)

pytestmark = pytest.mark.spark

SALES = """
CREATE TABLE orders (id BIGINT, region STRING, amount INT, placed_at TIMESTAMP) USING iceberg;
INSERT INTO orders VALUES (1, 'north', 5, current_timestamp()), (2, 'south', 7, NULL);
CREATE TABLE debit (id INT, amount INT) USING iceberg;
CREATE TABLE credit (id INT, amount INT) USING iceberg;
"""
BEFORE = {
    "docs/python.md": f"""{SALES}
CREATE STREAM TABLE revenue TAGS ('web') AS
SELECT region, SUM(amount) AS revenue FROM orders GROUP BY region;
CREATE STREAM TABLE busy AS SELECT region FROM revenue WHERE revenue > 5;
""",
    "docs/sql.md": f"""{SALES}
CREATE TABLE shop.orders (id BIGINT, placed_at TIMESTAMP, amount INT) USING iceberg;
""",
    "docs/guide.md": SALES,
}
ENDS_THE_TABLE = ("hub.drop_stream_table(", "DROP STREAM TABLE")


def blocks(page: str, language: str) -> list[str]:
    found = FENCE.findall((ROOT / page).read_text(encoding="utf-8"))
    return [text for name, text in found if name == language and not SIGNATURE.search(text)]


def run_sql(hub: headwater.Hub, text: str) -> list[list[Any]]:
    return [
        [tuple(row) for row in hub.sql(statement).collect()]
        for statement, _ in split_statements(text)
    ]


def prepared(place: Place, spark: Any, page: str) -> headwater.Hub:
    hub = place.open(spark)
    hub.sql("CREATE NAMESPACE IF NOT EXISTS shop")
    run_sql(hub, BEFORE.get(page, ""))
    return hub


def run_python(place: Place, spark: Any, code: str, names: dict[str, Any]) -> str:
    """Run a block; a hub that it connects to by a folder is one here, with the shared Spark."""

    class Connected:
        def __getattr__(self, name: str) -> Any:
            return getattr(headwater, name)

        def connect(self, path: str | None = None, **more: Any) -> headwater.Hub:
            assert path == "./lake"
            return place.open(spark)

    names["headwater"] = Connected()
    code = re.sub(r"^import headwater$", "", code, flags=re.MULTILINE)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, "block", "exec"), names)
    return told.getvalue()


def test_readme_in_python(place: Place, spark: Any) -> None:
    (tutorial,) = blocks("README.md", "python")
    told = run_python(place, spark, tutorial, {})
    assert told.startswith("INCREMENTAL merge 2 2\n")
    assert "|  east|     2|  27.25|" in told
    assert told.endswith("True\n")


def test_readme_in_sql(place: Place, spark: Any) -> None:
    (tutorial,) = blocks("README.md", "sql")
    with place.open(spark) as hub:
        told = run_sql(hub, tutorial)
    assert [row[0] for row in told[-3]] == ["east", "south"]
    assert told[-1][0][1] is True


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::headwater.HeadwaterWarning")
@pytest.mark.parametrize(("page", "count"), [("docs/guide.md", 7), ("docs/python.md", 26)])
def test_python_of_a_page(place: Place, spark: Any, page: str, count: int) -> None:
    hub = prepared(place, spark, page)
    names: dict[str, Any] = {}
    run = 0
    for code in blocks(page, "python"):
        if code.startswith(("hub.close()", *ENDS_THE_TABLE)):
            continue
        if 'create_stream_table(\n    "revenue"' in code:
            hub.drop_stream_table("revenue", cascade=True)
        names["hub"] = hub
        run_python(place, spark, code, names)
        run += 1
    for name in [row.name for row in hub.status()]:
        assert hub.verify(name).equal, name
    hub.close()
    assert run == count


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::headwater.HeadwaterWarning")
def test_sql_of_the_page(place: Place, spark: Any) -> None:
    page = "docs/sql.md"
    with prepared(place, spark, page) as hub:
        texts = blocks(page, "sql")
        ending = [text for text in texts if text.startswith(ENDS_THE_TABLE)]
        for text in [text for text in texts if text not in ending]:
            run_sql(hub, text)
        assert hub.verify("revenue").equal
        run_sql(hub, ending[1])
        assert [row.name for row in hub.status()] == ["shop.recent"]
    assert len(texts) >= 20
