"""Fixtures of this folder."""

from __future__ import annotations

from sources_lake import lake

__all__ = ["lake"]
