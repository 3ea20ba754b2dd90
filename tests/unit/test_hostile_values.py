"""Values and patterns that others choke on: one row is rejected, no run stops, hangs or dies of it."""

from __future__ import annotations

import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.kernels.expressions.bound_term import by_row
from millstream.kernels.expressions.functions.patterns import _expression, _pieces
from millstream.runtime.sources.decimal_texts import decimals

LONG = "9" * 5000
"""More digits than Python reads or writes as a number."""


def run(stream: ms.Stream, *columns: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    query = (stream.select(*columns) if columns else stream.where("true")).named("q")
    stream.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table().to_pylist(), query.rejected.table().to_pylist()


def rows(values: list[Any], schema: str = "ts BIGINT, v STRING", **settings: Any) -> ms.Stream:
    made = ms.Engine(host="local", **settings)
    return made.stream("s", [{"ts": i, "v": v} for i, v in enumerate(values)], schema=schema)


# --- numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["INT", "BIGINT", "DECIMAL(38,10)", "DATE", "TIMESTAMP"])
@pytest.mark.parametrize("text", [LONG, f"-{LONG}", "0" * 5000 + LONG], ids=["long", "negative", "zeros"])
def test_a_text_of_many_digits_is_no_number_that_fits(kind: str, text: str) -> None:
    good, bad = run(rows([text, None]), "ts", f"cast(v AS {kind}) AS n")

    assert [1] == [row["ts"] for row in good]
    assert f"is no {kind}" in bad[0]["reason"]


def test_digits_that_say_nothing_may_be_any_number() -> None:
    good, bad = run(
        rows(["0" * 5000 + "7", "0." + "3" * 5000, "0." + "0" * 5000 + "1"]), "cast(v AS DECIMAL(38,2)) AS n"
    )

    assert ([Decimal("7.00"), Decimal("0.33"), Decimal("0.00")], []) == ([row["n"] for row in good], bad)
    assert [{"n": 7}] == run(rows(["0" * 5000 + "7"]), "cast(v AS INT) AS n")[0]
    assert [{"n": None}] == run(rows([LONG], ansi=False), "cast(v AS INT) AS n")[0]


def test_a_literal_of_many_digits_is_told() -> None:
    with pytest.raises(ms.MillstreamError, match="more than 38 digits"):
        rows(["x"]).select(f"{LONG} AS n")


STATEMENTS = [
    "SELECT LONG AS x FROM s",
    "SELECT v FROM s LIMIT LONG",
    "SELECT v FROM s GROUP BY LONG",
    "SELECT count(*) AS n FROM s [RANGE LONG, WATTR ts]",
    "SELECT percentile(v, LONG) AS p FROM s [RANGE 5, WATTR ts]",
    "SELECT cast(v AS DECIMAL(LONG, 2)) AS x FROM s",
    "SELECT a.ts FROM s a JOIN s b ON a.ts BETWEEN b.ts - LONG AND b.ts",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_number_of_many_digits_in_a_statement_is_told_with_its_place(statement: str) -> None:
    with pytest.raises(ms.SqlError, match=r"line 1, column .*: a number of 5000 digits"):
        rows(["x"]).engine.sql(statement.replace("LONG", LONG))


def test_lengths_and_bounds_of_many_digits_are_told() -> None:
    huge = 10**5000
    made = ms.Engine(host="local").stream("s", [{"ts": 1}], progress=ms.supplied("ts"))
    for refused in (
        lambda: made.window("ts", range=huge).agg(n=ms.count()),
        lambda: made.punctuate("ts", before=huge),
        lambda: ms.Engine(host="local").stream("s", [{"ts": 1}], progress=ms.bounded_disorder("ts", huge)),
        lambda: ms.every(f"{LONG} seconds"),
    ):
        with pytest.raises(ms.MillstreamError, match=r"bits is|longer than a century"):
            refused()


@pytest.mark.parametrize("name", ["1e-77", "1e-100", "1e-999999999", "1e999999999", "0.LONG", "LONG", "1e", "e5", "."])
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_decimals_of_files_are_exact_or_their_row_is_rejected(tmp_path: Path, suffix: str, name: str) -> None:
    text = name.replace("LONG", LONG)
    lines = {
        "csv": f"ts,d\n1,1.50\n2,{text}\n3,25e-1\n",
        "json": f'{{"ts": 1, "d": 1.50}}\n{{"ts": 2, "d": "{text}"}}\n{{"ts": 3, "d": 25e-1}}\n',
    }
    (tmp_path / f"a.{suffix}").write_text(lines[suffix])
    stream = ms.Engine(host="local").stream("s", ms.files(tmp_path, schema="ts BIGINT, d DECIMAL(10,2)"))
    good, bad = run(stream)

    assert [(1, Decimal("1.50")), (3, Decimal("2.50"))] == [(row["ts"], row["d"]) for row in good]
    assert ["is not decimal128(10, 2)" in row["reason"] for row in bad] == [True]


def test_a_number_of_json_that_is_too_long_rejects_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'{{"d": {LONG}}}\n{{"d": 1e-999999999}}\n{{"d": 2}}\n')
    stream = ms.Engine(host="local").stream("s", ms.files(tmp_path, schema="d DECIMAL(10,2)"))
    good, bad = run(stream)

    assert ([{"d": Decimal("2.00")}], 2) == (good, len(bad))


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6),
    st.integers(-12, 12),
)
def test_decimals_with_exponents_are_what_they_say(number: Decimal, exponent: int) -> None:
    text = f"{number}e{exponent}"
    exact = number.scaleb(exponent)
    try:
        found = decimals(pa.array([text]), pa.decimal128(12, 4))[0].as_py()
    except pa.ArrowInvalid:
        assert exact != exact.quantize(Decimal("0.0001")) or abs(exact) >= 10**8
    else:
        assert exact == found


class Mute:
    """An object that cannot say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


def holding_itself() -> dict[str, Any]:
    out: dict[str, Any] = {}
    out["in"] = out
    return out


def deep() -> list[Any]:
    out: list[Any] = []
    for _ in range(5000):
        out = [out]
    return out


STRANGE: dict[str, Any] = {
    "a great number": 10**5000,
    "a small number": -(10**5000),
    "a mute object": Mute(),
    "a value that holds itself": holding_itself(),
    "a deep list": deep(),
    "a decimal of many places": Decimal("1e-999999"),
}


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "DECIMAL(10,2)", "STRING", "TIMESTAMP"])
def test_a_value_that_cannot_be_written_down_rejects_its_row(name: str, kind: str) -> None:
    good, bad = run(rows([STRANGE[name], None], f"ts BIGINT, v {kind}"))

    assert ([1], 1) == ([row["ts"] for row in good], len(bad))
    assert "is not" in bad[0]["reason"]
    assert bad[0]["raw"]


def test_an_error_of_python_in_a_function_is_the_failure_of_its_row() -> None:
    def halve(number: int) -> int:
        return number // 2 if number else int(LONG)

    made, failed = by_row(pa.int64(), halve, pa.array([4, 0, 6]))

    assert [2, None, 3] == made.to_pylist()
    assert failed is not None
    assert [False, True, False] == failed.rows.tolist()
    assert failed.reasons[1].startswith("ValueError: ")


# --- patterns ---------------------------------------------------------------------------------------

SLOW = ["(a+)+$", "^(a+)+b", "(a|a)*b", "([a-z]+)*=", r"(\w+\s?)*!", "(a?b?)*c", "(a{1,3})+b", "(a|ab|b)*c",
        "((a*)*)*b", "(x+x+)+y", r"(\d+|\w+)*;", "(?=(a+)+b)a", "(a{1,50}){1,50}b", "(.*a)*b$",
        "^(([a-z])+.)+[A-Z]([a-z])+$"]  # fmt: skip
QUICK = ["a+", "^a.c$", "(a|b)*c", "([a-z]+,)*x", r"(\d{1,3}\.){3}\d{1,3}", r"^[a-z0-9._-]+@[a-z0-9-]+(\.[a-z]+)+$",
         r"(\w+\s*)+", r"(\w{2}){3}x", r"\s*(\w+)\s*=\s*(.*)$", "(a+)+", "https?://[^/]+(/.*)?$", r"(\w+\s)*!",
         "(foo|bar|baz)+x", "[^,]*(,[^,]*)*$", "(?i)(warn|error): (.+)$", r'([^"]|"")*"', "(a{64}){2}b",
         "((ab)+c)*d"]  # fmt: skip


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_may_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(ms.MillstreamError, match=r"might take for ever(?s:.)*Hint: Let each repetition"):
        rows(["x"]).where(f"v RLIKE r'{pattern}'")


@pytest.mark.parametrize("pattern", QUICK)
def test_a_pattern_with_one_way_to_read_a_text_is_not(pattern: str) -> None:
    began = time.monotonic()
    run(rows(["a" * 40 + "!", "abc" * 20]), f"v RLIKE r'{pattern}' AS found")

    assert time.monotonic() - began < 5


def test_a_like_with_many_wildcards_takes_one_look() -> None:
    good, _ = run(rows(["a" * 3000, "a" * 3000 + "b"]), "v LIKE '%a%a_%a%_a%a%a%b' AS x", "v ILIKE '%A%a%A%a%A%b' AS y")

    assert [(False, False), (True, True)] == [(row["x"], row["y"]) for row in good]


@given(st.text("ab%_", max_size=8), st.text("ab\n", max_size=9))
def test_a_like_is_what_its_wildcards_say(pattern: str, text: str) -> None:
    meant = "".join({"%": ".*", "_": "."}.get(one, one) for one in pattern)
    pieces = _pieces(pattern, "/")

    assert bool(re.fullmatch(meant, text, re.DOTALL)) == bool(re.fullmatch(_expression(pieces), text, re.DOTALL))


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_the_distance_of_texts_is_the_least_number_of_changes(one: str, other: str) -> None:
    def least(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        if a[0] == b[0]:
            return least(a[1:], b[1:])
        return 1 + min(least(a[1:], b), least(a, b[1:]), least(a[1:], b[1:]))

    assert [{"d": least(one, other)}] == run(rows([one]), f"levenshtein(v, '{other}') AS d")[0]


def test_the_distance_of_long_texts_is_found_in_seconds() -> None:
    began = time.monotonic()

    assert [{"d": 5000}] == run(rows(["a" * 5000]), f"levenshtein(v, '{'b' * 5000}') AS d")[0]
    assert time.monotonic() - began < 10
