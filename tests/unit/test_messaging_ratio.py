"""Messages between processes, per minute and direction: two styles of punctuation, one answer, nothing kept."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.contract.scheme import Scheme, obeys, ungrammatical
from millstream.plan import nodes
from support.harness import Stepper

SCHEMA = pa.schema([("timestamp", pa.int64()), ("src", pa.int64()), ("dst", pa.int64())])
MINUTE = 60
START = 959 * MINUTE
"""The minute whose window id is 959."""
KEYS = [("window_id", "window_id"), ("src", "dst"), ("dst", "src")]
LEFT = [(START + 30, 1, 2), (START + 45, 1, 3)]
RIGHT = [(START + 40, 2, 1)]

STYLES: dict[str, tuple[tuple[Any, Any], tuple[Any, Any]]] = {
    # How each stream progresses, and the punctuation that each is given: no later time, or no later process.
    "time": (
        (ms.supplied("timestamp"), ms.supplied("timestamp")),
        ([ms.punctuation("timestamp", before=START + MINUTE)], [ms.punctuation("timestamp", before=START + MINUTE)]),
    ),
    "process termination": (
        (ms.supplied(per="src"), ms.supplied(per="dst")),
        ([ms.punctuation(src=1)], [ms.punctuation(dst=1)]),
    ),
}


def counts(stream: ms.Stream) -> ms.Query:
    return stream.window("timestamp", range=MINUTE).group_by("src", "dst").agg(n=ms.count())


def row(values: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(SCHEMA.names, values, strict=True))


def asked(style: str, *, rows: bool) -> tuple[ms.Engine, ms.Query]:
    """The whole plan, with or without rows."""
    engine = ms.Engine(host="local")
    progress, given = STYLES[style]
    first, second = (
        engine.stream(
            name,
            [ms.Epoch(pa.Table.from_pylist([row(one) for one in mine], schema=SCHEMA), told)] if rows else [],
            schema=SCHEMA,
            progress=how,
        )
        for name, how, told, mine in zip(("Msg1", "Msg2"), progress, given, (LEFT, RIGHT), strict=True)
    )
    both = counts(first).join(counts(second), on=KEYS)
    # The window's columns, and a number of the left and the right side.
    return engine, both.select("window_id", "left_src", "left_dst", "left_n / right_n AS ratio").named("ratio")


@pytest.mark.parametrize("style", STYLES)
def test_both_styles_give_the_same_pair_and_empty_state(style: str) -> None:
    engine, query = asked(style, rows=True)

    engine.start(ms.available_now()).await_termination()

    assert [(959, 1, 2, 1.0)] == [tuple(one.values()) for one in query.table().to_pylist()]
    operators = [engine.host.graph.at(node) for node in nodes.walk(engine.host.queries["ratio"].node)]
    kept = {type(one.node).__name__: one.operator.store.rows for one in operators if nodes.keeps_state(one.node)}
    assert {"Aggregate": 0, "Join": 0} == kept


@pytest.mark.parametrize("style", STYLES)
def test_the_inputs_and_the_counts_obey_the_schemes_that_the_check_reckons_with(style: str) -> None:
    (progress, _), (given, _) = STYLES[style]
    steps = Stepper(counts, schema=SCHEMA, progress=progress)
    left = steps.step([row(values) for values in LEFT], *given)
    punctuations = list(steps.operator.promises().punctuations())

    if style == "time":
        columns = ("window_id", "window_start", "window_end")
        assert obeys([*left, *punctuations], Scheme.of(*(f"{name}+" for name in columns)))
    else:
        assert obeys([*left, *punctuations], Scheme.of("src#"))
    assert [] == ungrammatical([*left, *punctuations])


@pytest.mark.parametrize("style", STYLES)
def test_the_whole_plan_is_safe_under_both_styles(style: str) -> None:
    engine, _ = asked(style, rows=False)

    assert engine.check().safe, str(engine.check())


def test_the_inverse_question_finds_both_styles() -> None:
    engine = ms.Engine(host="local")
    first, second = (engine.stream(name, [], schema=SCHEMA) for name in ("Msg1", "Msg2"))
    counts(first).join(counts(second), on=KEYS).named("ratio")

    found = [one.to_dict() for one in engine.check()["ratio"].remedies]

    assert {"Msg1": ["[[timestamp:+]]"], "Msg2": ["[[timestamp:+]]"]} in found
    assert {"Msg1": ["[[src:#]]"], "Msg2": ["[[dst:#]]"]} in found
