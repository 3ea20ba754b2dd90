"""The dialect: Spark's, with the seeds' words, and with aggregates left as plain calls for us to bind."""

from __future__ import annotations

from sqlglot import TokenType, exp
from sqlglot.dialects.spark import Spark

SYNONYMS = {
    "approx_count_distinct": "approx_distinct",
    "approx_percentile": "approx_quantile",
    "count_if": "count",
    "every": "bool_and",
    "first_value": "first",
    "last_value": "last",
    "mean": "avg",
    "percentile": "quantile",
    "percentile_approx": "approx_quantile",
    "percentile_cont": "quantile",
    "std": "stddev",
    "stddev_samp": "stddev",
    "var_samp": "variance",
}
"""What peers call an aggregate, and what we do."""

PARAMETERS: dict[str, tuple[str, ...]] = {
    "approx_distinct": ("lg_k",),
    "approx_heavy_hitters": ("share",),
    "approx_quantile": ("q", "k"),
    "heavy_hitters": ("share",),
    "quantile": ("q",),
}
"""Arguments after the first that are numbers, not expressions."""

AGGREGATES = frozenset(
    {
        *SYNONYMS,
        *PARAMETERS,
        "avg", "bool_and", "bool_or", "count", "count_distinct", "first", "last", "max", "max_by", "median", "min",
        "min_by", "mode", "stddev", "stddev_pop", "sum", "var_pop", "variance",
    }
)  # fmt: skip
"""Every name that is an aggregate in a statement."""

OTHER_AGGREGATES = frozenset({"any_value", "array_agg", "collect_list", "collect_set", "corr", "kurtosis", "skewness"})
"""Aggregates of Spark that we do not have: said plainly instead of failing as scalar functions."""

_UPPER = {name.upper() for name in AGGREGATES | OTHER_AGGREGATES}


class Millstream(Spark):
    """Spark's dialect with `GROUP-BY`, `∪` and `row-num`."""

    class Tokenizer(Spark.Tokenizer):
        """Words that Spark would cut at the hyphen."""

        SINGLE_TOKENS = {**Spark.Tokenizer.SINGLE_TOKENS, "∪": TokenType.UNION}  # noqa: RUF012 - sqlglot's style
        KEYWORDS = {  # noqa: RUF012 - sqlglot's style
            **Spark.Tokenizer.KEYWORDS,
            "GROUP-BY": TokenType.GROUP_BY,
            "GROUPBY": TokenType.GROUP_BY,
            "ROW-NUM": TokenType.VAR,
            "SEQ-NUM": TokenType.VAR,
        }

    class Parser(Spark.Parser):
        """An aggregate is a call like any other: its name and its arguments as written."""

        FUNCTIONS = {n: f for n, f in Spark.Parser.FUNCTIONS.items() if n not in _UPPER}  # noqa: RUF012
        FUNCTION_PARSERS = {  # noqa: RUF012 - sqlglot's style
            n: f for n, f in Spark.Parser.FUNCTION_PARSERS.items() if n not in _UPPER
        }


DIALECT = Millstream()
KEYWORDS = frozenset(word for word in Millstream.Tokenizer.KEYWORDS if word.isalpha())

__all__ = ["AGGREGATES", "DIALECT", "KEYWORDS", "OTHER_AGGREGATES", "PARAMETERS", "SYNONYMS", "exp"]
