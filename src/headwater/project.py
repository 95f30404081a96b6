"""The project file `headwater.toml`: where a hub lives and how its Spark starts."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.core.errors import InvalidOption, UnknownSetting
from headwater.core.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_NAME = "headwater.toml"
KEYS = ("hub", "catalog", "warehouse", "catalog_name", "spark", "settings")
_TABLES = ("spark", "settings")


@dataclass(frozen=True, slots=True)
class Project:
    """What a project file says; relative places start at its folder.

    Attributes:
        hub: name of the hub in the catalog database.
        catalog: SQLAlchemy URL of the catalog database; None: SQLite in `folder`.
        warehouse: where table files go; None: below `folder`.
        catalog_name: the name of the Iceberg catalog in Spark SQL.
        spark: Spark configuration.
        settings: the layer below every other, checked by `headwater.settings`.
    """

    folder: Path
    hub: str = "default"
    catalog: str | None = None
    warehouse: str | None = None
    catalog_name: str = "hw"
    spark: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def find(start: Path) -> Path | None:
    """The project file in a folder or in one above it."""
    for folder in (start.resolve(), *start.resolve().parents):
        candidate = folder / FILE_NAME
        if candidate.is_file():
            return candidate
    return None


def read(path: Path) -> Project:
    """Read a project file.

    Raises:
        InvalidOption: the file cannot be read, or a value has the wrong type.
        UnknownSetting: a key that does not exist; the hint names the nearest.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidOption(
            f"{path.name} cannot be read: {error}", hint="see the settings reference for its form"
        ) from None
    for key, value in document.items():
        _check(path.name, key, value)
    folder = path.resolve().parent
    named = {k: document[k] for k in ("hub", "catalog_name") if k in document}
    return Project(
        folder=folder,
        catalog=_catalog(document.get("catalog"), folder),
        warehouse=_place(document.get("warehouse"), folder),
        spark=dict(_flat(document.get("spark", {}), "")),
        settings=document.get("settings", {}),
        **named,
    )


def _check(file: str, key: str, value: object) -> None:
    if key not in KEYS:
        guess = nearest(key, KEYS)
        hint = f"did you mean {guess}?" if guess else f"known keys: {', '.join(KEYS)}"
        raise UnknownSetting(f"{file}: there is no key {key!r}", hint=hint)
    wanted = dict if key in _TABLES else str
    if not isinstance(value, wanted) or not (value or key in _TABLES):
        kind = "a table" if key in _TABLES else "a text"
        raise InvalidOption(f"{file}: {key} cannot be {value!r}", hint=f"it is {kind}")


def _catalog(url: str | None, folder: Path) -> str | None:
    """SQLite files are meant relative to the project file, wherever it is read from."""
    prefix = "sqlite:///"
    if url is None or not url.startswith(prefix):
        return url
    return prefix + str(folder / url.removeprefix(prefix))


def _place(text: str | None, folder: Path) -> str | None:
    return text if text is None or "://" in text else str(folder / text)


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """Spark's dotted keys: quoted as one, or as the nested tables TOML makes of them."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
            continue
        text = str(value).lower() if isinstance(value, bool) else str(value)
        yield (name if name.startswith("spark.") else f"spark.{name}"), text
