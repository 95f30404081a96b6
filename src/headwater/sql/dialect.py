"""Spark's dialect as Headwater reads it: what sqlglot would rewrite on the way is kept verbatim.

A tree is written back as Spark SQL, so a function must come out as it went in. sqlglot translates
some functions into a neutral form that loses digits, formats or arguments; those are read as plain
calls here.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generator import Generator
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

from headwater.sql.precedence import OperatorParser

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlglot.tokenizer_core import TokenType

_VERBATIM = """
    TO_CHAR TO_VARCHAR TO_NUMBER TRY_TO_NUMBER LOG LOG2 LOG10 LOG1P LN DATE_FORMAT TO_DATE
    TO_TIMESTAMP TO_TIMESTAMP_LTZ TO_TIMESTAMP_NTZ TRY_TO_TIMESTAMP TRY_TO_DATE FROM_UNIXTIME
    UNIX_TIMESTAMP TO_UNIX_TIMESTAMP UNIX_DATE STR_TO_MAP TO_UTC_TIMESTAMP FROM_UTC_TIMESTAMP
    REGEXP_EXTRACT REGEXP_EXTRACT_ALL DATE_SUB INSTR DATE_TRUNC TRUNC PARSE_JSON TRY_PARSE_JSON
    LISTAGG STRING_AGG PERCENTILE ARRAY_SIZE ARRAY_SORT SORT_ARRAY GET_JSON_OBJECT LEVENSHTEIN
    LIKE ILIKE RLIKE REGEXP_LIKE TIME_DIFF TIME_TRUNC SPACE CURRENT_CATALOG
    """

# Names of other dialects: in Spark a call of one is a function that the user registered.
_FOREIGN = """
    CONVERT TRY_CONVERT NORMALIZE MATCH WEIGHT_STRING OPENJSON
    APPROXIMATE_JACCARD_INDEX APPROX_DISTINCT APPROX_QUANTILE ARGMAX ARGMIN ARG_MAX ARG_MIN
    ARRAYAGG ARRAY_ANY ARRAY_CAT ARRAY_CONCAT ARRAY_CONSTRUCT_COMPACT ARRAY_CONTAINED_BY
    ARRAY_CONTAINS_ALL ARRAY_FILTER ARRAY_HAS ARRAY_HAS_ALL ARRAY_INTERSECTION ARRAY_LENGTH
    ARRAY_OVERLAPS ARRAY_SLICE ARRAY_SUM ARRAY_TO_STRING ARRAY_UNIQUE_AGG BITWISE_AND_AGG
    BITWISE_COUNT BITWISE_OR_AGG BITWISE_XOR_AGG BOOLAND BOOLAND_AGG BOOLOR BOOLOR_AGG
    CHARINDEX CONVERT_TO_CHARSET COUNTIF CURRENT_VERSION DATEFROMPARTS DATETIME_ADD
    DATETIME_DIFF DATETIME_SUB DATETIME_TRUNC DATE_BIN DATE_FROM_PARTS DATE_STR_TO_DATE
    DATE_TO_DATE_STR DATE_TO_DI DAYOFWEEK_ISO DAY_OF_MONTH DAY_OF_WEEK DAY_OF_YEAR
    DECODE_CASE DI_TO_DATE ENDS_WITH EXPLODING_GENERATE_SERIES FARMFINGERPRINT64 FORMAT
    FROM_BASE64 FROM_ISO8601_DATE FROM_ISO8601_TIMESTAMP FROM_ISO8601_TIMESTAMP_NANOS
    GENERATE_BOOL GENERATE_DATE_ARRAY GENERATE_DOUBLE GENERATE_EMBEDDING GENERATE_INT
    GENERATE_SERIES GENERATE_TABLE GENERATE_TEXT GENERATE_UUID GEN_RANDOM_UUID GET_BIT
    GET_EXTRACT GLOB GROUP_CONCAT IIF INSERT INT64 ISINF ISODOW IS_NAN JSON_EXTRACT
    JSON_EXTRACT_PATH_TEXT JSON_EXTRACT_SCALAR JSON_FORMAT JSON_KEYS JSON_OBJECT
    JSON_OBJECTAGG JSON_PARSE JSON_TABLE LAST_DAY_OF_MONTH LEFTPAD LOGICAL_AND LOGICAL_OR
    LOWER_HEX MATCH_AGAINST MD5_DIGEST NUMBER_TO_STR PAD PARSE_DATETIME PREDICT QUANTILE
    READ_PARQUET REGEXP_SPLIT RIGHTPAD SAFE_ADD SAFE_CAST SAFE_DIVIDE SAFE_MULTIPLY
    SAFE_SUBTRACT SPLIT_BY_STRING STARTS_WITH STAR_MAP STDEV STRPOS STRUCT_EXTRACT
    STR_POSITION STR_TO_DATE STR_TO_TIME STR_TO_UNIX ST_MAKEPOINT TIMEFROMPARTS
    TIMESTAMPFROMPARTS TIMESTAMPLTZFROMPARTS TIMESTAMPTZFROMPARTS TIMESTAMP_ADD
    TIMESTAMP_DIFF TIMESTAMP_FROM_PARTS TIMESTAMP_SUB TIMESTAMP_TRUNC TIME_ADD TIME_SLICE
    TIME_STR_TO_DATE TIME_STR_TO_TIME TIME_STR_TO_UNIX TIME_SUB TIME_TO_STR TIME_TO_TIME_STR
    TIME_TO_UNIX TO_ARRAY TO_BASE64 TO_DOUBLE TO_HEX TO_MAP TRUNCATE TRY UNICODE UNIX_TO_STR
    UNIX_TO_TIME UNIX_TO_TIME_STR UTC_DATE UTC_TIME UTC_TIMESTAMP UUID_STRING VARIANCE_POP
    VARIANCE_SAMP VAR_MAP WEEK_OF_YEAR WEEK_START XMLELEMENT XOR YEAROFWEEK YEAROFWEEKISO
    """

_KEPT = frozenset((*_VERBATIM.split(), *_FOREIGN.split()))

PLAIN_TYPES = frozenset(
    {
        exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT,
        exp.DType.DECIMAL, exp.DType.DOUBLE, exp.DType.DATE,
    }
)  # fmt: skip
"""Types whose name and sizes are written alike in every dialect that sqlglot knows."""

VARIABLE = "headwater.variable"
"""Marks an identifier that is the variable of a lambda."""

LEVELS = "headwater.levels"
"""Marks the name of a recursive CTE with its `MAX RECURSION LEVEL`."""


def _named_struct(arguments: list[exp.Expr]) -> exp.Expr:
    """A struct with its names, if those are literals."""
    if all(isinstance(name, exp.Literal) and name.is_string for name in arguments[::2]):
        struct: exp.Expr = SparkParser.FUNCTIONS["NAMED_STRUCT"](arguments)
        return struct
    return exp.Anonymous(this="NAMED_STRUCT", expressions=arguments)


def _taking(name: str, least: int, most: int) -> Callable[[list[exp.Expr]], exp.Expr]:
    """A function that is known with so many arguments; with others it stays a plain call."""
    build: Callable[[list[exp.Expr]], exp.Expr] = SparkParser.FUNCTIONS[name]

    def made(arguments: list[exp.Expr]) -> exp.Expr:
        if least <= len(arguments) <= most:
            return build(arguments)
        return exp.Anonymous(this=name, expressions=arguments)

    return made


class _Parser(OperatorParser):
    """Reads the functions that must stay as they are written as plain calls."""

    SUPPORTS_TABLE_QUERY = True

    FUNCTIONS = {  # noqa: RUF012 - the shape sqlglot asks for
        **{name: build for name, build in SparkParser.FUNCTIONS.items() if name not in _KEPT},
        "NAMED_STRUCT": _named_struct,
        "MAX_BY": _taking("MAX_BY", 2, 2),
        "MIN_BY": _taking("MIN_BY", 2, 2),
        "REGEXP_REPLACE": _taking("REGEXP_REPLACE", 3, 4),
    }
    FUNCTION_PARSERS = {  # noqa: RUF012 - the shape sqlglot asks for
        name: parse
        for name, parse in SparkParser.FUNCTION_PARSERS.items()
        if name not in (*_KEPT, "MAX_BY", "MIN_BY")
    }

    def _parse_table_alias(
        self, alias_tokens: Collection[TokenType] | None = None
    ) -> exp.TableAlias | None:
        """The name of a CTE may tell how many rounds it takes at most."""
        alias = super()._parse_table_alias(alias_tokens)
        if alias is not None and self._match_text_seq("MAX", "RECURSION", "LEVEL"):
            number = self._parse_number()
            if number is None:
                self.raise_error("a number of levels is missing here")
            else:
                alias.meta[LEVELS] = int(number.name)
        return alias

    def _replace_lambda(
        self, node: exp.Expr | None, expressions: list[exp.Expr]
    ) -> exp.Expr | None:
        """Mark the variables of a lambda, whatever their case: none of them is a column."""
        names = {parameter.name.lower() for parameter in expressions}
        for parameter in expressions:
            parameter.meta[VARIABLE] = True
        if node is None:
            return None
        body = exp.Paren(this=node)
        for column in list(body.find_all(exp.Column)):
            first, *path = column.parts
            if first.name.lower() in names:
                variable = first.copy()
                variable.meta[VARIABLE] = True
                column.replace(exp.Dot.build([variable, *path]) if path else variable)
        found: exp.Expr = body.this
        return found


class _Generator(SparkGenerator):
    """Writes SELECT as it stands: it came from Spark SQL, so no other dialect's clause is in it.

    Looking for such clauses in every nested query is a third of the time it takes to write one.
    WITHIN GROUP is kept too: without it a percentile would become an approximate one. TIME is a
    type of its own. Casts to plain types need none of the looks for types that Spark lacks.
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

    def tablealias_sql(self, expression: exp.TableAlias) -> str:
        """A name with its columns, that of a recursive CTE with the rounds it takes at most."""
        levels = expression.meta.get(LEVELS)
        told = f" MAX RECURSION LEVEL {levels}" if levels is not None else ""
        return super().tablealias_sql(expression) + told

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """A cast; only those of literals and to nested types have forms of their own."""
        own = isinstance(expression.this, exp.Literal) or expression.to.args.get("nested")
        write = super().cast_sql if own else partial(Generator.cast_sql, self)
        return write(expression, safe_prefix)

    def datatype_sql(self, expression: exp.DataType) -> str:
        """The name of a type, with its sizes."""
        if expression.this in PLAIN_TYPES:
            return Generator.datatype_sql(self, expression)
        return super().datatype_sql(expression)


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
