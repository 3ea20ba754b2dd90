"""The names of functions, for guesses at what was meant."""

from __future__ import annotations

from millstream.kernels.expressions import bind as _all  # noqa: F401 - registers them
from millstream.kernels.expressions.function_registry import names
from millstream.sql.dialect import AGGREGATES

FUNCTIONS = tuple(sorted({*names(), *AGGREGATES}))
"""Every function that a statement may name."""
