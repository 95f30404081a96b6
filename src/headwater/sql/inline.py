"""Functions written in SQL: a call is replaced by the function's expression before it is resolved.

    f(x INT) RETURNS BIGINT RETURN x + 1
    f(a)  →  CAST(CAST(a AS INT) + 1 AS BIGINT)

So the compiler sees through them, and no Spark session needs to know them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from headwater.core.errors import InvalidOption, InvalidQuery
from headwater.sql.dialect import HeadwaterSpark
from headwater.sql.parse import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headwater.sql.lookup import Lookup

_SPARK = HeadwaterSpark()
_FORM = "write it as '(x INT) RETURNS BIGINT RETURN x + 1'"


@dataclass(frozen=True)
class SqlFunction:
    """A function of one expression.

    Attributes:
        parameters: names, in lower case, and types.
        body: the expression over the parameters.
        returns: type of the result; None leaves it as the body has it.
    """

    parameters: tuple[tuple[str, exp.DataType | None], ...]
    body: exp.Expr
    returns: exp.DataType | None

    def applied(self, arguments: list[exp.Expr]) -> exp.Expr:
        """The expression for a call."""
        given = dict(zip(self.parameters, arguments, strict=True))
        values = {name: _cast(value, type_) for (name, type_), value in given.items()}

        def fill(node: exp.Expr) -> exp.Expr:
            is_parameter = isinstance(node, exp.Column) and not node.table
            return values[node.name.lower()].copy() if is_parameter else node

        return _cast(self.body.transform(fill), self.returns)


def read_function(name: str, text: str) -> SqlFunction:
    """A function from the text that follows its name in CREATE FUNCTION.

    Args:
        name: for messages.
        text: `(x INT) RETURNS BIGINT RETURN x + 1`; words such as DETERMINISTIC are allowed.

    Raises:
        InvalidOption: the text does not have that form.
    """
    try:
        head, tail = _split(text)
        statement = _SPARK.parse(f"CREATE FUNCTION f{head} RETURN 0")[0]
        bodies = _SPARK.parse(f"SELECT {tail}")
    except (ParseError, TokenError) as error:
        what = f"function {name} cannot be read: {text!r}"
        raise InvalidOption(what, hint=_FORM) from error
    body = _only_expression(bodies)
    is_function = isinstance(statement, exp.Create) and isinstance(
        statement.this, exp.UserDefinedFunction
    )
    if body is None or statement is None or not is_function:
        raise InvalidOption(f"function {name} cannot be read: {text!r}", hint=_FORM)
    parameters = tuple((p.name.lower(), p.args.get("kind")) for p in statement.this.expressions)
    _check_body(name, body, {parameter for parameter, _ in parameters})
    returns = statement.find(exp.ReturnsProperty)
    kind = returns.this if returns is not None else None
    for node in body.walk():
        node._meta = None  # Places in the body are not places in the query.
    return SqlFunction(parameters, body, kind if isinstance(kind, exp.DataType) else None)


def inlined(query: exp.Query, lookup: Lookup, text: str) -> bool:
    """Replace all calls of SQL functions in a query, in place; whether there were any.

    Raises:
        InvalidQuery: a call has too few or too many arguments, or functions call each other
            in a circle.
    """
    found = False
    while (call := next(_calls(query, lookup), None)) is not None:
        found = True
        node, function = call
        _check_ends(node.name, function, lookup, (), text)
        wanted, given = len(function.parameters), len(node.expressions)
        if wanted != given:
            raise InvalidQuery(
                f"{node.name}() takes {wanted} arguments, not {given}",
                place=place_of(node, text),
                sql=text,
            )
        node.replace(function.applied(node.expressions))
    return found


def _calls(tree: exp.Expr, lookup: Lookup) -> Iterator[tuple[exp.Anonymous, SqlFunction]]:
    for node in tree.find_all(exp.Anonymous):
        fact = lookup.function(node.name.lower())
        if fact is not None and fact.body is not None:
            yield node, fact.body


def _check_ends(
    name: str, function: SqlFunction, lookup: Lookup, path: tuple[str, ...], text: str
) -> None:
    if name.lower() in path:
        circle = " → ".join((*path, name.lower()))
        raise InvalidQuery(f"functions call each other in a circle: {circle}", sql=text)
    for node, called in _calls(function.body, lookup):
        _check_ends(node.name, called, lookup, (*path, name.lower()), text)


def _split(text: str) -> tuple[str, str]:
    """The text before RETURN and the text after it."""
    for token in _SPARK.tokenize(text):
        if token.text.upper() == "RETURN":
            return text[: token.start], text[token.end + 1 :]
    return text, ""


def _only_expression(statements: list[exp.Expr | None]) -> exp.Expr | None:
    """The one expression of `SELECT e`, if it is just that."""
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        return None
    select = statements[0]
    clauses = [key for key, value in select.args.items() if value]
    is_plain = clauses == ["expressions"] and len(select.expressions) == 1
    return select.expressions[0] if is_plain else None


def _check_body(name: str, body: exp.Expr, parameters: set[str]) -> None:
    if body.find(exp.Query, exp.Star) is not None:
        raise InvalidOption(f"function {name} reads tables", hint="put the query into the FROM")
    for column in body.find_all(exp.Column):
        if column.table or column.name.lower() not in parameters:
            raise InvalidOption(
                f"function {name} has no parameter {column.sql('spark')}",
                hint=f"its parameters are {', '.join(sorted(parameters)) or 'none'}",
            )


def _cast(value: exp.Expr, type_: exp.DataType | None) -> exp.Expr:
    return exp.paren(value) if type_ is None else exp.Cast(this=value, to=type_.copy())
