"""The names of functions, for guesses at what was meant."""

from __future__ import annotations

from sqlglot.dialects.spark import Spark

from millstream.sql.dialect import AGGREGATES

FUNCTIONS = tuple(sorted({name.lower() for name in Spark.Parser.FUNCTIONS} | AGGREGATES))
"""Every function that a statement may name, as far as the dialect knows them."""
