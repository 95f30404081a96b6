"""Spark's dialect as Headwater reads it: what sqlglot would rewrite on the way is kept verbatim.

A tree is written back as Spark SQL, so a function must come out as it went in. sqlglot translates
some functions into a neutral form that loses digits, formats or arguments; those are read as plain
calls here.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

_VERBATIM = """
    TO_CHAR TO_VARCHAR TO_NUMBER TRY_TO_NUMBER LOG LOG2 LOG10 LOG1P LN DATE_FORMAT TO_DATE
    TO_TIMESTAMP TO_TIMESTAMP_LTZ TO_TIMESTAMP_NTZ TRY_TO_TIMESTAMP TRY_TO_DATE FROM_UNIXTIME
    UNIX_TIMESTAMP TO_UNIX_TIMESTAMP UNIX_DATE STR_TO_MAP TO_UTC_TIMESTAMP FROM_UTC_TIMESTAMP
    REGEXP_EXTRACT REGEXP_EXTRACT_ALL DATE_SUB INSTR DATE_TRUNC TRUNC PARSE_JSON TRY_PARSE_JSON
    LISTAGG STRING_AGG PERCENTILE ARRAY_SIZE ARRAY_SORT SORT_ARRAY
    """

_KEPT = frozenset(_VERBATIM.split())


class _Parser(SparkParser):
    """Reads the functions that must stay as they are written as plain calls."""

    FUNCTIONS = {  # noqa: RUF012 - the shape sqlglot asks for
        name: build for name, build in SparkParser.FUNCTIONS.items() if name not in _KEPT
    }
    FUNCTION_PARSERS = {  # noqa: RUF012 - the shape sqlglot asks for
        name: parse for name, parse in SparkParser.FUNCTION_PARSERS.items() if name not in _KEPT
    }


class _Generator(SparkGenerator):
    """Writes SELECT as it stands: it came from Spark SQL, so no other dialect's clause is in it.

    Looking for such clauses in every nested query is a third of the time it takes to write one.
    WITHIN GROUP is kept too: without it a percentile would become an approximate one. TIME is a
    type of its own.
    """

    TYPE_MAPPING = {  # noqa: RUF012 - the shape sqlglot asks for
        kind: name
        for kind, name in SparkGenerator.TYPE_MAPPING.items()
        if kind is not exp.DType.TIME
    }

    TRANSFORMS = {  # noqa: RUF012 - the shape sqlglot asks for
        kind: write
        for kind, write in SparkGenerator.TRANSFORMS.items()
        if kind not in (exp.Select, exp.WithinGroup)
    }


class HeadwaterSpark(Spark):
    """Spark SQL, read so that it can be written back unchanged."""

    class Tokenizer(Spark.Tokenizer):
        """A doubled quote inside a string is a quote."""

        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012 - the shape sqlglot asks for

    Parser = _Parser
    Generator = _Generator


def _check_build() -> None:
    try:
        _Parser()
    except TypeError as error:
        raise ImportError(
            "Headwater extends the Spark dialect of sqlglot, which its compiled build does not "
            "allow; do: pip uninstall sqlglotc"
        ) from error


_check_build()
