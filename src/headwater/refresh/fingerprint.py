"""Identity of the compiler: a template that another one made is never used."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from headwater.version import __version__

_PARTS = ("sql", "delta", "refresh/definitions.py", "refresh/stored_template.py")


@cache
def fingerprint() -> str:
    """Hash of the package's version and of the modules that decide what a template says."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=8)
    package = Path(__file__).parent.parent
    for part in _PARTS:
        place = package / part
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(str(path.relative_to(package)).encode())
            digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()
