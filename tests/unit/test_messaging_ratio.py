"""Messages between processes, per minute and direction: two styles of punctuation, one answer, nothing kept.

The counts run on the operators of the hosts; the join is the small one of tests/support, because the hosts have none
yet. The whole plan, join included, is checked as it will run.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.contract.scheme import Scheme, obeys, ungrammatical
from support.harness import Stepper
from support.symmetric_join import SymmetricJoin

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


@pytest.mark.parametrize("style", STYLES)
def test_both_styles_give_the_same_pair_and_empty_state(style: str) -> None:
    progress, given = STYLES[style]
    sides = [Stepper(counts, schema=SCHEMA, progress=one) for one in progress]
    join = SymmetricJoin(KEYS)
    pairs: list[Any] = []

    for side, (steps, rows, punctuation) in enumerate(zip(sides, (LEFT, RIGHT), given, strict=True)):
        for one in steps.step([row(values) for values in rows], *punctuation):
            pairs += join.row(side, one)
    for side, steps in enumerate(sides):
        for one in steps.operator.promises().punctuations():
            join.punctuation(side, one)

    assert [(959, 1, 2, 1, 1)] == [(a["window_id"], a["src"], a["dst"], a["n"], b["n"]) for a, b in pairs]
    assert [0, 0] == [steps.operator.store.rows for steps in sides]
    assert ([], []) == join.kept


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
    engine = ms.Engine(host="local")
    progress, _ = STYLES[style]
    first, second = (
        engine.stream(name, [], schema=SCHEMA, progress=one)
        for name, one in zip(("Msg1", "Msg2"), progress, strict=True)
    )
    both = counts(first).join(counts(second), on=KEYS)
    both.select("window_id", "left_src", "left_dst", "left_n / right_n AS ratio").named("ratio")

    assert engine.check().safe, str(engine.check())
    with pytest.raises(ms.NotYetError, match="not yet: join"):
        engine.start()


def test_the_inverse_question_finds_both_styles() -> None:
    engine = ms.Engine(host="local")
    first, second = (engine.stream(name, [], schema=SCHEMA) for name in ("Msg1", "Msg2"))
    counts(first).join(counts(second), on=KEYS).named("ratio")

    found = [one.to_dict() for one in engine.check()["ratio"].remedies]

    assert {"Msg1": ["[[timestamp:+]]"], "Msg2": ["[[timestamp:+]]"]} in found
    assert {"Msg1": ["[[src:#]]"], "Msg2": ["[[dst:#]]"]} in found
