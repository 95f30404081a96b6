"""Failures of Spark become the right error, whatever stands in the SQL that Spark shows with it."""

from __future__ import annotations

import pytest
from py4j.protocol import ERROR, STRING_TYPE, Py4JError, get_return_value

from headwater.core import errors
from headwater.storage.failures import translate

PLAN = "\n'Project [*]\n+- 'Filter ('g LIKE %java.io.FileNotFoundException: x%)\n"
SQL = (
    "\n== SQL (line 1, position 8) ==\nSELECT 1/0, 'java.io.FileNotFoundException: x'\n       ^^^\n"
)
TASK = (
    "An error occurred while calling o327.collectToPython.\n: org.apache.spark.SparkException: Job "
    "aborted due to stage failure: Lost task 0.0 in stage 21.0 (TID 23) (executor driver): "
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table `x` cannot be found. SQLSTATE: 42P01; "
            f"line 1 pos 14;{PLAN}",
            errors.UnknownTable,
        ),
        (f"[NO_SUCH_THING] It is not. SQLSTATE: 42P01; line 1 pos 14;{PLAN}", errors.QueryFailed),
        (f"[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012{SQL}", errors.QueryFailed),
        (f"[OTHER] Wrong. SQLSTATE: 22012{SQL}", errors.QueryFailed),
        (
            f"{TASK}org.apache.spark.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero. "
            f"SQLSTATE: 22012{SQL}\n\tat org.apache.spark.sql.Divide.eval(Divide.scala:1)",
            errors.QueryFailed,
        ),
        (
            "[CAST_INVALID_INPUT] The value 'StatusCode.UNAVAILABLE' of the type \"STRING\" cannot "
            "be cast. SQLSTATE: 22018",
            errors.QueryFailed,
        ),
        (
            "[INVALID_PARAMETER] The pattern '%FileNotFoundException%' is wrong. SQLSTATE: 22023",
            errors.QueryFailed,
        ),
        (
            "[USER_RAISED_EXCEPTION] see the case of HW4003: FileNotFoundException SQLSTATE: P0001",
            errors.QueryFailed,
        ),
        ("[USER_RAISED_EXCEPTION] HW3003: twice SQLSTATE: P0001", errors.UniqueKeyViolated),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601",
            errors.SqlSyntaxError,
        ),
        (
            f"{TASK}org.apache.iceberg.exceptions.NotFoundException: Failed to open a.parquet\n"
            "\tat org.apache.iceberg.hadoop.HadoopInputFile.newStream(HadoopInputFile.java:187)",
            errors.StorageDamaged,
        ),
        (
            f"[OTHER] Wrong. SQLSTATE: 22012{SQL}\n\tat a.B.c(B.java:1)\n"
            "Caused by: java.io.FileNotFoundException: a.parquet",
            errors.StorageDamaged,
        ),
        ("Cannot find snapshot with ID 123", errors.VersionExpired),
        (
            "org.apache.iceberg.exceptions.CommitFailedException: Base metadata is stale",
            errors.RefreshConflict,
        ),
    ],
)
def test_only_the_words_of_spark_decide(text: str, kind: type[errors.HeadwaterError]) -> None:
    from pyspark.errors import PySparkException

    assert type(translate(PySparkException(text), "SELECT 1")) is kind


def test_the_name_of_a_lost_file_is_told() -> None:
    from pyspark.errors import PySparkException

    text = f"{TASK}org.apache.iceberg.exceptions.NotFoundException: Failed to open a.parquet"
    assert translate(PySparkException(text)).what == "Failed to open a.parquet"


def test_what_to_do_where_spark_has_no_plan() -> None:
    from pyspark.errors import PySparkException

    text = (
        "An error occurred while calling o82.collectToPython.\n"
        ": java.util.NoSuchElementException: key not found: b0#28\n"
        "\tat scala.collection.MapOps.default(Map.scala:289)"
    )
    error = translate(PySparkException(text))
    assert isinstance(error, errors.QueryFailed)
    assert "spark.sql.constraintPropagation.enabled" in str(error)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(ERROR, errors.SparkLost), (f"{ERROR}{STRING_TYPE}no such method", errors.QueryFailed)],
)
def test_a_call_without_an_answer_means_that_spark_is_gone(
    answer: str, kind: type[errors.HeadwaterError]
) -> None:
    with pytest.raises(Py4JError) as told:
        get_return_value(answer, None, "o12", "sql")
    assert type(translate(told.value, "SELECT 1")) is kind
