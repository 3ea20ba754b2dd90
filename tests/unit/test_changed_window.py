"""A window whose functions have changed is another window: a checkpoint refuses it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.fingerprint import fingerprint
from support.in_process import engine as engine_on_disk

SCHEMA = pa.schema({"ts": pa.int64()})
TABLE = pa.Table.from_pylist([{"ts": ts} for ts in range(30)], schema=SCHEMA)
Ask = Callable[[ms.Engine, ms.Stream], Any]


def cumulate(step: int, size: int) -> Ask:
    windows = f"CUMULATE(TABLE s, DESCRIPTOR(ts), {step}, {size})"
    return lambda engine, _: engine.sql(f"SELECT window_id, count(*) AS n FROM {windows}", name="q")


def own(length: int) -> Ask:
    def extent(wid: int) -> tuple[int, int]:
        return wid * length, wid * length + length

    def wids(value: int) -> list[int]:
        return [value // length]

    return lambda _, stream: stream.window("ts", extent=extent, wids=wids).agg(n=ms.count()).named("q")


def live(root: Path, ask: Ask) -> None:
    engine = engine_on_disk(root / "ck", 2)
    query = ask(engine, engine.stream("s", [TABLE], schema=SCHEMA, progress=ms.ordered("ts")))
    query.to_parquet(root / "out")
    engine.start(ms.available_now()).await_termination()


@pytest.mark.parametrize(
    ("before", "same", "now", "said"),
    [
        (cumulate(5, 20), cumulate(5, 20), cumulate(10, 40), "cumulate step 5 size 20 on ts"),
        (own(5), own(5), own(10), "user-defined, code "),
    ],
    ids=["CUMULATE", "functions"],
)
def test_a_restart_with_another_window_is_refused(tmp_path: Path, before: Ask, same: Ask, now: Ask, said: str) -> None:
    live(tmp_path, before)
    live(tmp_path, same)

    with pytest.raises(ms.StateError, match=f"it had `window {said}"):
        live(tmp_path, now)


def made(source: str, **names: Any) -> Any:
    exec(source, names)
    return names["f"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (made("f = lambda w: w + 1"), made("f = lambda w: w + 2")),
        (made("f = lambda w: w + 1"), made("f = lambda w: w - 1")),
        (made("f = lambda w: w + A", A=1), made("f = lambda w: w + A", A=2)),
        (made("f = lambda w: A(w)", A=lambda w: w), made("f = lambda w: A(w)", A=lambda w: -w)),
        (made("def f(w, a=1): return w + a"), made("def f(w, a=2): return w + a")),
        (made("f = lambda w: [w + i + 1 for i in ()]"), made("f = lambda w: [w + i + 2 for i in ()]")),
        (made("f = lambda w: w in {'a', 'b'}"), made("f = lambda w: w in {'a', 'c'}")),
        (partial(max, 1), partial(max, 2)),
    ],
)
def test_a_fingerprint_changes_with_what_a_function_does(one: Any, other: Any) -> None:
    assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    "source",
    ["f = lambda w: w + 1", "def f(w):\n return f(w - 1) if w else g(w)", "f = lambda w: w in {'a', 'b', 'c', 'd'}"],
)
def test_a_fingerprint_is_the_same_for_the_same_text(source: str) -> None:
    memory: dict[int, int] = {}
    first, second = (fingerprint(made(source, g=lambda w: memory.setdefault(w, w))) for _ in range(2))

    assert first == second


def test_what_a_function_remembers_does_not_change_its_fingerprint() -> None:
    memory: dict[int, int] = {}

    def remembered(value: int) -> int:
        return memory.setdefault(value, value)

    before = fingerprint(remembered)
    remembered(5)

    assert before == fingerprint(remembered)
