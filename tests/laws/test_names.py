"""For all names and texts: what a column is called, and what a literal says, changes no answer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.quote import RESERVED, quoted, read_text, text
from millstream.core.term import render
from millstream.kernels.expressions.evaluate import evaluate
from millstream.sql.expression import expression

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.one_of(
    st.sampled_from(
        ["a.b", "a`b", "'", '"', "__order", "__a0_0", "__key", "x y", "--", "/*", "a';DROP", "__apart", "SELECT"]
    ),
    st.text(CHARACTERS, min_size=1, max_size=8),
).filter(lambda name: not name.lower().startswith(RESERVED) and name.strip() != "")
TEXTS = st.one_of(
    st.sampled_from(["it's", "\\", "'", "''", "%", "\\'", "a\nb", "--", "`"]), st.text(CHARACTERS, max_size=8)
)


def answers(query: ms.Query) -> list[dict[str, Any]]:
    query.named("q")
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table().to_pylist()


@given(st.lists(NAMES, min_size=4, max_size=4, unique_by=str.lower), TEXTS)
def test_any_name_goes_through_every_path(names: list[str], value: str) -> None:
    ts, key, number, made = names
    if {"window_id", "window_start", "window_end", "strategy", "hysteresis"} & set(names):
        return
    rows = pa.table({ts: [1, 2, 12], key: [value, "other", value], number: [3, 4, 5]})
    other = pa.table({key: [value], f"{made}_": [7]})

    def stream() -> ms.Stream:
        return ms.Engine(host="local").stream("s", rows, progress=ms.ordered(ts))

    mine = f"{quoted(key)} = {text(value)}"
    assert 2 + (value == "other") == len(answers(stream().where(mine).where(f"{quoted(number)} > 0")))
    (first, *_) = answers(stream().select(f"{quoted(number)} + 1 AS {quoted(made)}", quoted(key)))
    assert {made: 4, key: value} == first
    wanted: dict[str, Any] = {made: ms.sum(f"{quoted(number)} * 2", filter=mine)}
    counted = stream().window(ts, range=10).group_by(key).agg(**wanted)
    assert 16 + (8 if value == "other" else 0) == sum(row[made] or 0 for row in answers(counted))
    grouped = stream().group_by(key).agg(**{**wanted, made: ms.count()})
    assert 3 == sum(row[made] for row in answers(grouped))
    enriched = stream().enrich(other, on=key, where=f"{quoted(number)} < 5")
    assert 1 + (value == "other") == len(answers(enriched))
    left = stream()
    right = left.engine.stream("t", pa.table({ts: [1], key: [value]}), progress=ms.ordered(ts))
    joined = left.join(right, on=key, within=5, where=f"{quoted(number)} > 0")
    assert 1 + (value == "other") == len(answers(joined))


@given(TEXTS)
def test_a_text_is_read_as_it_was_written(value: str) -> None:
    assert value == read_text(text(value))
    made = evaluate([expression(f"{text(value)} AS x".removesuffix(" AS x"), pa.schema([]))], pa.table({"n": [1]}))
    assert [value] == made.values[0].to_pylist()


@given(NAMES)
def test_a_name_is_written_so_that_it_is_read_again(name: str) -> None:
    schema = pa.schema([(name, pa.int64())])
    parsed = expression(f"{quoted(name)} + 1", schema)

    assert (name,) == parsed.columns
    assert parsed.term == expression(render(parsed.term), schema).term
