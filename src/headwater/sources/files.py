"""Metadata files: local paths with plain `open`, the rest through PyIceberg."""

from __future__ import annotations

import gzip
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

_GZIP_MAGIC = b"\x1f\x8b"


class Files(Protocol):
    """Files that never change once they are written."""

    def read(self, location: str) -> bytes:
        """The content; FileNotFoundError when it is not there."""

    def write(self, location: str, content: bytes) -> None:
        """Make a file that is not there yet."""

    def remove(self, location: str) -> None:
        """Remove a file that nobody knows of; one that stays is litter, not a failure."""


class IcebergFiles:
    """Any location an Iceberg table may have.

    Args:
        properties: FileIO properties, e.g. `s3.endpoint`; only used for remote locations.
    """

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        self._properties = dict(properties or {})
        self._remote: dict[str, Any] = {}

    def read(self, location: str) -> bytes:
        """The content, unpacked when it is compressed."""
        path = local_path(location)
        content = _read_local(path) if path is not None else self._fetch(location)
        return gzip.decompress(content) if content.startswith(_GZIP_MAGIC) else content

    def write(self, location: str, content: bytes) -> None:
        """Make a file that is not there yet."""
        path = local_path(location)
        if path is not None:
            with FileIO(path, "x") as stream:
                stream.write(content)
            return
        with self._io(location).new_output(location).create() as stream:
            stream.write(content)

    def remove(self, location: str) -> None:
        """Remove a file that nobody knows of; one that stays is litter, not a failure."""
        path = local_path(location)
        with suppress(Exception):
            if path is not None:
                Path(path).unlink()
            else:
                self._io(location).delete(location)

    def _fetch(self, location: str) -> bytes:
        with self._io(location).new_input(location).open() as stream:
            return bytes(stream.read())

    def _io(self, location: str) -> Any:
        scheme = location.partition("://")[0]
        if scheme not in self._remote:
            from pyiceberg.io import load_file_io

            self._remote[scheme] = load_file_io(self._properties, location)
        return self._remote[scheme]


def _read_local(path: str) -> bytes:
    """One open, one read: a tick may look at a thousand files."""
    with FileIO(path) as stream:
        return stream.readall()


def local_path(location: str) -> str | None:
    """The path of a local location, None for a remote one.

    >>> local_path("file:/data/t.json"), local_path("file:///data/t.json"), local_path("s3://b/t")
    ('/data/t.json', '/data/t.json', None)
    """
    if location.startswith("file:"):
        rest = location.removeprefix("file:")
        return "/" + rest.lstrip("/")
    return location if "://" not in location else None
