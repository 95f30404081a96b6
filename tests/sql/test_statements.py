"""Statements: good ones read completely, bad ones say where and what was expected."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.core.errors import (
    HeadwaterError,
    InvalidName,
    InvalidOption,
    Place,
    SqlSyntaxError,
    UnknownColumn,
)
from headwater.core.names import TableName
from headwater.sql.statements import (
    AlterStreamTable,
    CallFunction,
    CreateStreamTable,
    DescribeStreamTable,
    DropStreamTable,
    ExplainCreate,
    ExplainStreamTable,
    RefreshStreamTable,
    ResumeStreamTable,
    ShowStreamTables,
    SuspendStreamTable,
    parse_statement,
    query_of,
    shift,
    split_statements,
)

T = TableName("default", "t")


def create(text: str) -> CreateStreamTable:
    statement = parse_statement(text)
    assert isinstance(statement, CreateStreamTable)
    return statement


def failure(text: str) -> HeadwaterError:
    with pytest.raises(HeadwaterError) as caught:
        parse_statement(text)
    return caught.value


class TestCreate:
    def test_all_clauses_with_comments_and_newlines(self) -> None:
        text = """-- the sales of each region
CREATE /* now */ OR REPLACE Stream Table
  IF NOT EXISTS `Sales`.By_Region
  SCHEDULE '0 6 * * * Europe/Berlin' -- early
  REFRESH_MODE incremental strict
  SLA '30 seconds' TIER HOT
  UNIQUE KEY (region, `sold on`)
  PARTITIONED BY (days(sold_on), bucket(16, region), kind)
  APPEND ONLY DIAMOND_CONSISTENCY atomic DIAMOND_SCHEDULE_POLICY 'slowest'
  COMMENT 'it''s ours' TAGS ('a', b) WITH NO DATA
AS
  SELECT ';' AS semi -- kept
  FROM t;
-- end"""
        statement = create(text)
        assert statement.name == TableName("sales", "by_region")
        assert statement.or_replace
        assert statement.if_not_exists
        assert statement.text == text
        assert dict(statement.options) == {
            "schedule": "0 6 * * * Europe/Berlin",
            "refresh_mode": "INCREMENTAL STRICT",
            "sla": "30 seconds",
            "tier": "hot",
            "unique_key": ("region", "sold on"),
            "partition_by": ("days(sold_on)", "bucket(16, region)", "kind"),
            "append_only": True,
            "diamond_consistency": "atomic",
            "diamond_schedule_policy": "slowest",
            "comment": "it's ours",
            "tags": ("a", "b"),
            "initialize": False,
        }
        assert statement.query.text == "SELECT ';' AS semi -- kept\n  FROM t"
        assert (statement.query.line, statement.query.column) == (12, 3)

    def test_nothing_but_name_and_query(self) -> None:
        statement = create("create stream table t as select 1")
        assert statement.name == T
        assert dict(statement.options) == {}
        assert not statement.or_replace
        assert not statement.if_not_exists
        assert statement.query.text == "select 1"

    @pytest.mark.parametrize("kind", ["STREAM TABLE", "MATERIALIZED VIEW", "Dynamic\n table"])
    def test_synonyms(self, kind: str) -> None:
        assert create(f"CREATE OR REPLACE {kind} t AS SELECT 1").name == T

    @pytest.mark.parametrize(
        ("clause", "option", "value"),
        [
            ("SCHEDULE '5m'", "schedule", "5m"),
            ("schedule = '@hourly'", "schedule", "@hourly"),
            ("SCHEDULE CALCULATED", "schedule", "calculated"),
            ("SCHEDULE 'downstream'", "schedule", "calculated"),
            ("TARGET_LAG = '90 minutes'", "schedule", "1h30m"),
            ("TARGET_LAG = DOWNSTREAM", "schedule", "calculated"),
            ("REFRESH_MODE = AUTO", "refresh_mode", "AUTO"),
            ("REFRESH_MODE DIFFERENTIAL", "refresh_mode", "INCREMENTAL"),
            ("REFRESH_MODE 'incremental strict'", "refresh_mode", "INCREMENTAL STRICT"),
            ("REFRESH_MODE immediate", "refresh_mode", "IMMEDIATE"),
            ("TIER 'Frozen'", "tier", "frozen"),
            ("UNIQUE_KEY = (a)", "unique_key", ("a",)),
            ("SORTED BY (a, `b c`)", "sort_by", ("a", "b c")),
            ("PARTITION BY (a, truncate(10, b))", "partition_by", ("a", "truncate(10, b)")),
            ("APPEND_ONLY = false", "append_only", False),
            ("APPEND_ONLY = true", "append_only", True),
            ('COMMENT "double"', "comment", "double"),
            ("COMMENT 'a' 'b'", "comment", "ab"),
            ("TAGS ('x')", "tags", ("x",)),
            ("WITH DATA", "initialize", True),
            ("INITIALIZE = false", "initialize", False),
        ],
    )
    def test_clause(self, clause: str, option: str, value: object) -> None:
        statement = create(f"CREATE STREAM TABLE t {clause} AS SELECT 1")
        assert dict(statement.options) == {option: value}
        assert statement.query.text == "SELECT 1"

    @given(
        st.permutations(
            ["SCHEDULE '5m'", "REFRESH_MODE FULL", "TIER cold", "TAGS ('a')", "UNIQUE KEY (k)"]
        )
    )
    def test_order_of_clauses_does_not_matter(self, clauses: list[str]) -> None:
        statement = create(f"CREATE STREAM TABLE t {' '.join(clauses)} AS SELECT 1")
        assert dict(statement.options) == {
            "schedule": "5m",
            "refresh_mode": "FULL",
            "tier": "cold",
            "tags": ("a",),
            "unique_key": ("k",),
        }

    def test_with_no_data_after_the_query(self) -> None:
        statement = create("CREATE STREAM TABLE t AS WITH a AS (SELECT 1) TABLE a WITH NO DATA;;")
        assert statement.query.text == "WITH a AS (SELECT 1) TABLE a"
        assert statement.options["initialize"] is False

    @pytest.mark.parametrize("word", ["date", "values", "tier", "as_of", "ns.table", "`as`"])
    def test_words_of_sql_as_names(self, word: str) -> None:
        assert create(f"CREATE STREAM TABLE {word} AS SELECT 1").query.text == "SELECT 1"


class TestOthers:
    @pytest.mark.parametrize(
        ("text", "options"),
        [
            ("SET (schedule = '1m', tier = 'warm')", {"schedule": "1m", "tier": "warm"}),
            ("SET (target_lag = downstream)", {"schedule": "calculated"}),
            ("SET (comment = NULL, sla = null)", {"comment": None, "sla": None}),
            ("SET (unique_key = (a, b), tags = ('x'))", {"unique_key": ("a", "b"), "tags": ("x",)}),
            ("SET (unique_key = NULL, tags = NULL)", {"unique_key": (), "tags": ()}),
            ("SET (append_only = false)", {"append_only": False}),
            ("SET (status = suspended)", {"status": "SUSPENDED"}),
        ],
    )
    def test_alter_set(self, text: str, options: dict[str, object]) -> None:
        statement = parse_statement(f"ALTER STREAM TABLE t {text};")
        assert isinstance(statement, AlterStreamTable)
        assert dict(statement.options) == options
        assert statement.query is None

    def test_alter_query(self) -> None:
        statement = parse_statement("ALTER STREAM TABLE t AS\nSELECT 2;")
        assert isinstance(statement, AlterStreamTable)
        assert statement.query is not None
        assert (statement.query.text, statement.query.line) == ("SELECT 2", 2)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("ALTER STREAM TABLE t SUSPEND", SuspendStreamTable("", T)),
            ("alter dynamic table default.T resume;", ResumeStreamTable("", T)),
            ("DROP STREAM TABLE t", DropStreamTable("", T)),
            ("DROP MATERIALIZED VIEW IF EXISTS t CASCADE;", DropStreamTable("", T, True, True)),
            ("REFRESH STREAM TABLE `t`", RefreshStreamTable("", T)),
            ("refresh stream table t full", RefreshStreamTable("", T, True)),
            ("SHOW STREAM TABLES", ShowStreamTables("")),
            ("show /* all */ materialized views;", ShowStreamTables("")),
            ("DESCRIBE STREAM TABLE t", DescribeStreamTable("", T)),
            ("DESC DYNAMIC TABLE t", DescribeStreamTable("", T)),
            ("EXPLAIN STREAM TABLE t", ExplainStreamTable("", T, "plan")),
            ("EXPLAIN STREAM TABLE t DELTA", ExplainStreamTable("", T, "delta")),
            ("explain stream table t sql;", ExplainStreamTable("", T, "sql")),
            ("EXPLAIN COST STREAM TABLE t", ExplainStreamTable("", T, "cost")),
            ("CALL headwater.health_check()", CallFunction("", "health_check")),
            (
                "call Headwater.Parallel_Job_Status(-300, 1.5, 'a', TRUE, null, 7L)",
                CallFunction("", "parallel_job_status", (-300, 1.5, "a", True, None, 7)),
            ),
            (
                "CALL `headwater`.create_refresh_group('g', members => array('a', 'b'))",
                CallFunction("", "create_refresh_group", ("g",), {"members": ("a", "b")}),
            ),
        ],
    )
    def test_statement(self, text: str, expected: object) -> None:
        statement = parse_statement(text)
        assert statement is not None
        assert statement.text == text
        assert type(statement) is type(expected)
        for field in expected.__dataclass_fields__:  # type: ignore[attr-defined]
            if field not in ("text", "marks"):
                assert getattr(statement, field) == getattr(expected, field)

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("EXPLAIN CREATE STREAM TABLE t AS SELECT 1", "plan"),
            ("EXPLAIN DELTA CREATE OR REPLACE STREAM TABLE t AS SELECT 1;", "delta"),
        ],
    )
    def test_explain_create(self, text: str, what: str) -> None:
        statement = parse_statement(text)
        assert isinstance(statement, ExplainCreate)
        assert statement.what == what
        query = query_of(statement)
        assert query is not None
        assert text[query.column - 1 :].startswith(query.text)


NOT_OURS = [
    "",
    "   -- nothing\n",
    "SELECT 1",
    "select 'create stream table t as select 1'",
    "-- create stream table t\nSELECT 1",
    "/* create /* nested */ stream table */ SELECT 1",
    "SELECT 'not closed",
    "CREATE TABLE stream (a INT)",
    "CREATE OR REPLACE VIEW v AS SELECT 1",
    "CREATE TEMPORARY VIEW v AS SELECT 1",
    "REFRESH TABLE t",
    "REFRESH stream",
    "SHOW TABLES",
    "SHOW STREAM",
    "DESCRIBE TABLE stream",
    "DESCRIBE stream",
    "DROP TABLE t",
    "ALTER TABLE t SET TBLPROPERTIES ('a'='b')",
    "EXPLAIN SELECT 1",
    "EXPLAIN COST SELECT 1",
    "EXPLAIN CREATE TABLE t AS SELECT 1",
    "CALL hw.system.rollback_to_snapshot('t', 1)",
    "CALL headwater.system.rewrite_data_files('t')",
    "(SELECT 1)",
]


class TestNotOurs:
    @pytest.mark.parametrize("text", NOT_OURS)
    def test_is_none(self, text: str) -> None:
        assert parse_statement(text) is None

    def test_plain_sql_does_not_load_the_tokenizer(self) -> None:
        code = (
            "import sys; from headwater.sql.statements import parse_statement; "
            "parse_statement('SELECT 1'); sys.exit('sqlglot' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


WORDS = """CREATE OR REPLACE STREAM TABLE TABLES MATERIALIZED VIEW IF NOT EXISTS t ns . `q` , ( )
= => ; AS SELECT 1 -2 2L 'x' "y" ' ` /* */ -- SCHEDULE TARGET_LAG '5m' TIER hot REFRESH_MODE
INCREMENTAL STRICT UNIQUE KEY PARTITIONED BY WITH NO DATA TAGS COMMENT ALTER SET SUSPEND DROP
CASCADE REFRESH FULL SHOW DESCRIBE EXPLAIN DELTA CALL headwater ARRAY true NULL é 😀 1e999"""
WORDS_AND_LINES = [*WORDS.split(), "\n"]

BAD = [
    ("CREATE STREAM t AS SELECT 1", SqlSyntaxError, 1, 15, "expected TABLE"),
    ("CREATE STREAM TABLE AS SELECT 1", SqlSyntaxError, 1, 21, "a table name"),
    ("CREATE STREAM TABLE 't' AS SELECT 1", SqlSyntaxError, 1, 21, "a table name"),
    ("CREATE STREAM TABLE t", SqlSyntaxError, 1, 22, "AS and the query"),
    ("CREATE STREAM TABLE t SELECT 1", SqlSyntaxError, 1, 23, "AS before the query"),
    ("CREATE STREAM TABLE t WITH a AS (SELECT 1) TABLE a", SqlSyntaxError, 1, 23, "AS before"),
    ("CREATE STREAM TABLE t AS", SqlSyntaxError, 1, 25, "a query"),
    ("CREATE STREAM TABLE t AS\n ;", SqlSyntaxError, 2, 2, "a query"),
    ("CREATE STREAM TABLE t AS SELECT 1; SELECT 2", SqlSyntaxError, 1, 36, "one statement"),
    ("CREATE STREAM TABLE t\n  SCHEDUEL '5m'\nAS SELECT 1", SqlSyntaxError, 2, 3, "mean SCHEDULE?"),
    ("CREATE STREAM TABLE t TARGETLAG '5m' AS SELECT 1", SqlSyntaxError, 1, 23, "TARGET_LAG?"),
    ("CREATE STREAM TABLE t WAREHOUSE x AS SELECT 1", SqlSyntaxError, 1, 23, "known are SCHEDULE"),
    ("CREATE STREAM TABLE t (a INT) AS SELECT 1", SqlSyntaxError, 1, 23, "found '('"),
    ("CREATE STREAM TABLE t SCHEDULE AS SELECT 1", SqlSyntaxError, 1, 32, "a quoted schedule"),
    ("CREATE STREAM TABLE t SCHEDULE 5 AS SELECT 1", SqlSyntaxError, 1, 32, "a quoted schedule"),
    ("CREATE STREAM TABLE t SCHEDULE 'soon' AS SELECT 1", InvalidOption, 1, 32, "not a schedule"),
    ("CREATE STREAM TABLE t SLA 'soon' AS SELECT 1", InvalidOption, 1, 27, "soon"),
    ("CREATE STREAM TABLE t TIER hto AS SELECT 1", InvalidOption, 1, 28, "did you mean hot?"),
    ("CREATE STREAM TABLE t REFRESH_MODE x AS SELECT 1", InvalidOption, 1, 36, "refresh mode"),
    ("CREATE STREAM TABLE t UNIQUE KEY a AS SELECT 1", SqlSyntaxError, 1, 34, "'(' and names"),
    ("CREATE STREAM TABLE t UNIQUE KEY (a AS SELECT 1", SqlSyntaxError, 1, 37, "',' or ')'"),
    ("CREATE STREAM TABLE t PARTITIONED BY () AS SELECT 1", SqlSyntaxError, 1, 39, "columns or"),
    ("CREATE STREAM TABLE t COMMENT x AS SELECT 1", SqlSyntaxError, 1, 31, "a quoted text"),
    (
        "CREATE STREAM TABLE t SCHEDULE '1m'\n TIER hot\n SCHEDULE '2m' AS SELECT 1",
        SqlSyntaxError,
        3,
        2,
        "set before",
    ),
    (
        "CREATE STREAM TABLE t SCHEDULE '1m' TARGET_LAG '1m' AS SELECT 1",
        SqlSyntaxError,
        1,
        37,
        "set",
    ),
    ("CREATE STREAM TABLE t COMMENT 'a AS SELECT 1", SqlSyntaxError, 1, 31, "not closed"),
    ("CREATE STREAM TABLE t /* AS SELECT 1", SqlSyntaxError, 1, 23, "*/"),
    ("CREATE STREAM TABLE `t AS SELECT 1", SqlSyntaxError, 1, 21, "quoted name"),
    ("CREATE STREAM TABLE `a b` AS SELECT 1", InvalidName, 1, 21, "'a b'"),
    ("CREATE STREAM TABLE a.b.c AS SELECT 1", InvalidName, 1, 21, "'a.b.c'"),
    ("ALTER STREAM TABLE t", SqlSyntaxError, 1, 21, "SUSPEND or RESUME"),
    ("ALTER STREAM TABLE t RENAME TO x", SqlSyntaxError, 1, 22, "SUSPEND or RESUME"),
    ("ALTER STREAM TABLE t SET schedule = '1m'", SqlSyntaxError, 1, 26, "'('"),
    ("ALTER STREAM TABLE t SET ()", SqlSyntaxError, 1, 27, "an option"),
    ("ALTER STREAM TABLE t SET (shedule = '1m')", SqlSyntaxError, 1, 27, "mean SCHEDULE?"),
    ("ALTER STREAM TABLE t SET (partition_by = (a))", SqlSyntaxError, 1, 27, "an option"),
    ("ALTER STREAM TABLE t SET (schedule '1m')", SqlSyntaxError, 1, 36, "'='"),
    ("ALTER STREAM TABLE t SET (schedule = NULL)", SqlSyntaxError, 1, 38, "a quoted schedule"),
    ("ALTER STREAM TABLE t SET (tier = hot tags = ('a'))", SqlSyntaxError, 1, 38, "',' or ')'"),
    ("ALTER STREAM TABLE t SUSPEND NOW", SqlSyntaxError, 1, 30, "the end"),
    ("DROP STREAM TABLE t RESTRICT", SqlSyntaxError, 1, 21, "CASCADE or the end"),
    ("REFRESH STREAM TABLE t FULLY", SqlSyntaxError, 1, 24, "FULL or the end"),
    ("SHOW STREAM TABLES LIKE 'x'", SqlSyntaxError, 1, 20, "the end"),
    ("EXPLAIN STREAM TABLE t PLANS", SqlSyntaxError, 1, 24, "PLAN, DELTA, SQL"),
    ("CALL headwater.health_check", SqlSyntaxError, 1, 28, "'('"),
    ("CALL headwater.f(1", SqlSyntaxError, 1, 19, "',' or ')'"),
    ("CALL headwater.f(1 2)", SqlSyntaxError, 1, 20, "',' or ')'"),
    ("CALL headwater.f(x)", SqlSyntaxError, 1, 18, "a literal"),
    ("CALL headwater.f(a => 1, 2)", SqlSyntaxError, 1, 26, "by position come first"),
    ("CALL headwater.f(a => 1, A => 2)", SqlSyntaxError, 1, 26, "given twice"),
]


class TestMistakes:
    @pytest.mark.parametrize(("text", "kind", "line", "column", "says"), BAD)
    def test_place_and_words(
        self, text: str, kind: type[HeadwaterError], line: int, column: int, says: str
    ) -> None:
        error = failure(text)
        assert type(error) is kind
        assert error.place == Place(line, column)
        assert error.sql == text
        assert says in str(error)
        assert "^" in str(error)

    @settings(max_examples=400, deadline=None)
    @given(
        st.lists(
            st.sampled_from(WORDS_AND_LINES),
            max_size=25,
        ).map(" ".join)
    )
    @example("CALL headwater.f(" + "9" * 5000 + ")")
    @example("CALL headwater.f(" + "array(" * 5000)
    @example("CREATE STREAM TABLE \x00 AS \ufeff")
    def test_total_on_our_words(self, text: str) -> None:
        try:
            parse_statement(text)
        except HeadwaterError as error:
            assert error.kind == "user"
            assert error.place is not None
            str(error)

    @settings(max_examples=300, deadline=None)
    @given(
        st.sampled_from(
            ["", "CREATE STREAM TABLE ", "CALL headwater.", "ALTER STREAM TABLE t SET "]
        ),
        st.text(),
    )
    def test_total_on_any_text(self, lead: str, rest: str) -> None:
        for act in (parse_statement, split_statements):
            try:
                act(lead + rest)
            except HeadwaterError as error:
                str(error)


class TestShift:
    TEXT = "CREATE STREAM TABLE t\n  AS SELECT a,\n       b\nFROM s"

    def shifted(self, place: Place | None, sql: str | None) -> HeadwaterError:
        statement = create(self.TEXT)
        return shift(UnknownColumn("no column", place=place, sql=sql), statement)

    def test_first_line_moves_right_and_down(self) -> None:
        query = create(self.TEXT).query.text
        error = self.shifted(Place(1, 8), query)
        assert error.place == Place(2, 13)
        assert error.sql == self.TEXT
        assert str(error).splitlines()[3].index("^") == self.TEXT.splitlines()[1].index("a,")

    def test_later_lines_move_down_only(self) -> None:
        assert self.shifted(Place(2, 8), None).place == Place(3, 8)

    def test_once_only(self) -> None:
        statement = create(self.TEXT)
        error = UnknownColumn("no column", place=Place(1, 8), sql=statement.query.text)
        assert shift(shift(error, statement), statement).place == Place(2, 13)

    def test_errors_about_other_texts_stay(self) -> None:
        assert self.shifted(Place(1, 1), "SELECT x FROM view").place == Place(1, 1)
        assert self.shifted(None, None).place is None

    def test_statement_without_query(self) -> None:
        statement = parse_statement("SHOW STREAM TABLES")
        assert statement is not None
        error = shift(UnknownColumn("x", place=Place(1, 1)), statement)
        assert error.place == Place(1, 1)


class TestSplit:
    @pytest.mark.parametrize(
        ("script", "expected"),
        [
            ("", []),
            (" ;; -- only\n /* comments; */ ;", []),
            ("SELECT 1", [("SELECT 1", 0)]),
            ("SELECT ';' ; SELECT \";\"", [("SELECT ';'", 0), (" " * 13 + 'SELECT ";"', 0)]),
            (
                "-- first;\nSELECT `a;b`;\n\n\nSHOW TABLES;\n",
                [("SELECT `a;b`", 1), ("SHOW TABLES", 4)],
            ),
            (
                "SELECT 1 /* ; */ + 2;\nCALL a.b(';')",
                [("SELECT 1 /* ; */ + 2", 0), ("CALL a.b(';')", 1)],
            ),
        ],
    )
    def test_split(self, script: str, expected: list[tuple[str, int]]) -> None:
        assert split_statements(script) == expected

    def test_columns_stay_those_of_the_script(self) -> None:
        script = "SELECT 1; DROP STREAM TABLE t x"
        text, before = split_statements(script)[1]
        place = failure(text).place
        assert place is not None
        assert (place.line + before, place.column) == (1, script.index(" x") + 2)

    def test_not_closed(self) -> None:
        with pytest.raises(SqlSyntaxError) as caught:
            split_statements("SELECT 1;\nSELECT 'a;")
        assert caught.value.place == Place(2, 8)
