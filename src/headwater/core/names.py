"""Table names: parsed once at the door, quoted whenever they reach SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headwater.core.errors import InvalidName

DEFAULT_NAMESPACE = "default"
HIDDEN_PREFIX = "__hw_"
WEIGHT = "__hw_w"
"""The column that says how often a row of a delta comes or goes."""

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_PLAIN = re.compile(r"\A(?:(?P<ns>[A-Za-z_][A-Za-z0-9_]*)\.)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\Z")
_RESERVED_NAMESPACES = frozenset({"headwater", "information_schema", "system"})


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """`namespace.name`, both lower case: names are found without regard to case.

    Attributes:
        spelling: how the catalog spells both, where that is another way.
    """

    namespace: str
    name: str
    spelling: tuple[str, str] | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        """Of the name alone, which a string knows: graphs of many tables hash them all the time."""
        return hash(self.name)

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"

    @classmethod
    def parse(cls, text: str | TableName) -> TableName:
        """Read `name` or `namespace.name`.

        >>> str(TableName.parse("Orders"))
        'default.orders'
        """
        if isinstance(text, TableName):
            return text
        match = _PLAIN.match(text) if isinstance(text, str) else None
        if match is None:
            raise InvalidName(str(text))
        return cls((match["ns"] or DEFAULT_NAMESPACE).lower(), match["name"].lower())

    def check_creatable(self) -> TableName:
        """Refuse names that a stream table must not have."""
        hidden = self.namespace.startswith(HIDDEN_PREFIX) or self.name.startswith(HIDDEN_PREFIX)
        if hidden or self.namespace in _RESERVED_NAMESPACES:
            raise InvalidName(str(self), reserved=True)
        if not (_PART.fullmatch(self.namespace) and _PART.fullmatch(self.name)):
            raise InvalidName(str(self))
        return self

    def sql(self, catalog: str) -> str:
        """The quoted three-part name for Spark SQL."""
        return ".".join(quote(part) for part in (catalog, *self.spelled))

    @property
    def spelled(self) -> tuple[str, str]:
        """Namespace and name as the catalog has them."""
        return self.spelling or (self.namespace, self.name)

    @classmethod
    def listed(cls, namespace: str, name: str) -> TableName:
        """A name as a catalog spells it."""
        lower = (namespace.lower(), name.lower())
        return cls(*lower, None if lower == (namespace, name) else (namespace, name))


def quote(identifier: str) -> str:
    """Quote one identifier for Spark SQL.

    >>> quote("a`b")
    '`a``b`'
    """
    return "`" + identifier.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""Quote a string literal for Spark SQL.

    >>> literal("it's")
    "'it\\'s'"
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
