"""The dialect: Spark's, with the seeds' words, and with calls left as they are written, for us to give a meaning."""

from __future__ import annotations

from typing import Any

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from millstream.core.quote import read_text, text
from millstream.kernels.aggregates.aggregate_registry import FUNCTIONS

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

PARAMETERS = {name: one.parameters for name, one in FUNCTIONS.items() if one.parameters}
"""Arguments after the first that are numbers, not expressions."""

AGGREGATES = frozenset({*SYNONYMS, *FUNCTIONS} - {"user"})
"""Every name that is an aggregate in a statement."""

OTHER_AGGREGATES = frozenset({"any_value", "array_agg", "collect_list", "collect_set", "corr", "kurtosis", "skewness"})
"""Aggregates of Spark that we do not have: said plainly instead of failing as scalar functions."""

# Calls with words between their arguments; all others are read as a name and arguments.
_WORDY = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "POSITION", "SUBSTRING")


class Millstream(Spark):
    """Spark's dialect with `GROUP-BY`, `∪` and `row-num`."""

    class Tokenizer(Spark.Tokenizer):
        """Words that Spark would cut at the hyphen; a quote is doubled inside quotes."""

        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012 - sqlglot's style
        SINGLE_TOKENS = {**Spark.Tokenizer.SINGLE_TOKENS, "∪": TokenType.UNION}  # noqa: RUF012 - sqlglot's style
        KEYWORDS = {  # noqa: RUF012 - sqlglot's style
            **Spark.Tokenizer.KEYWORDS,
            "GROUP-BY": TokenType.GROUP_BY,
            "GROUPBY": TokenType.GROUP_BY,
            "ROW-NUM": TokenType.VAR,
            "SEQ-NUM": TokenType.VAR,
        }

    class Parser(Spark.Parser):
        """A call is its name and its arguments as written: nothing is taken for something alike."""

        STRICT_CAST = True
        TRIM_PATTERN_FIRST = True
        FUNCTIONS: dict[str, Any] = {"ROW_NUMBER": Spark.Parser.FUNCTIONS["ROW_NUMBER"]}  # noqa: RUF012
        FUNCTION_PARSERS = {n: f for n, f in Spark.Parser.FUNCTION_PARSERS.items() if n in _WORDY}  # noqa: RUF012
        NO_PAREN_FUNCTION_PARSERS = {  # noqa: RUF012 - sqlglot's style
            n: f for n, f in Spark.Parser.NO_PAREN_FUNCTION_PARSERS.items() if n in ("CASE", "IF")
        }

    class Generator(Spark.Generator):
        """Texts and casts are written as they were read."""

        def literal_sql(self, expression: exp.Literal) -> str:
            """A text with its escapes."""
            return text(expression.name) if expression.is_string else super().literal_sql(expression)

        def rawstring_sql(self, expression: exp.RawString) -> str:
            """A raw text as any other."""
            return text(expression.name)


DIALECT = Millstream()
KEYWORDS = frozenset(word for word in Millstream.Tokenizer.KEYWORDS if word.isalpha())


def words(read: str) -> list[Token]:
    """The tokens of a text; what is between quotes is read as Spark does.

    >>> [token.text for token in words("a = 'it''s'")]
    ['a', '=', "it's"]
    """
    return [_read(token, read) for token in DIALECT.tokenize(read)]


def _read(token: Token, read: str) -> Token:
    if token.token_type is not TokenType.STRING:
        return token
    meant = read_text(read[token.start : token.end + 1])
    return Token(token.token_type, meant, token.line, token.col, token.start, token.end, token.comments)


__all__ = ["AGGREGATES", "DIALECT", "KEYWORDS", "OTHER_AGGREGATES", "PARAMETERS", "SYNONYMS", "exp", "words"]
