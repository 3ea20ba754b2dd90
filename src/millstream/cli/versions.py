"""Which versions are at work."""

from __future__ import annotations

import platform
from importlib import metadata

import millstream

_WITH = ("pyarrow", "numpy", "duckdb", "sqlglot", "pyspark")


def versions() -> dict[str, str]:
    """By name; what is not installed is not named."""
    out = {"millstream": millstream.__version__, "python": platform.python_version()}
    for name in _WITH:
        try:
            out[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return out
