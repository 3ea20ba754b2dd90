"""The list of functions: every one has cases that Spark judges, and the document has them all."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from millstream.core.errors import ExpressionError
from millstream.core.settings import Settings
from millstream.kernels.expressions.evaluate import evaluate, type_of
from millstream.kernels.expressions.function_registry import FUNCTIONS
from millstream.sql.expression import expression
from support import function_cases

ROOT = Path(__file__).parents[2]
CASES = [text for texts in {**function_cases.OPERATORS, **function_cases.FUNCTIONS}.values() for text in texts]
ROWS = function_cases.table()


def test_every_function_has_a_case() -> None:
    called = {name for name, one in FUNCTIONS.items() if not one.syntax}

    assert called == set(function_cases.FUNCTIONS)


def test_the_document_lists_every_function() -> None:
    tool = runpy.run_path(str(ROOT / "tools" / "functions_page.py"))
    page = (ROOT / "docs" / "functions.md").read_text()

    assert tool["written"](page) == page, "run tools/functions_page.py"


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "not-ansi"])
def test_every_case_has_values_of_its_type_or_fails_by_row(*, ansi: bool) -> None:
    settings = Settings(ansi=ansi, zone="America/St_Johns")
    for text in CASES:
        parsed = expression(text, ROWS.schema, settings)
        made = evaluate([parsed], ROWS)

        assert made.values[0].type == type_of(parsed, ROWS.schema), text
        assert len(made.values[0]) == ROWS.num_rows, text
        assert made.failed is None or not parsed.total, text


def test_the_text_for_spark_says_the_same() -> None:
    for text in CASES:
        parsed = expression(text, ROWS.schema)

        assert expression(parsed.spark, ROWS.schema).term == parsed.term, text


def test_a_case_of_one_row_is_that_of_many() -> None:
    for text in CASES[::7]:
        parsed = expression(text, ROWS.schema)
        whole = evaluate([parsed], ROWS)
        for i in range(0, ROWS.num_rows, 11):
            one = evaluate([parsed], ROWS.slice(i, 1))
            failed = whole.failed is not None and bool(whole.failed.rows[i])
            assert failed == (one.failed is not None), text
            assert failed or one.values[0].equals(whole.values[0].slice(i, 1)) or "nan" in str(one.values[0]), text


def test_an_interval_alone_is_refused() -> None:
    with pytest.raises(ExpressionError, match="no value here"):
        expression("INTERVAL 1 DAY", ROWS.schema)
