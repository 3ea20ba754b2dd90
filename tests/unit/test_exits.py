"""`sys.exit()` and Ctrl-C inside somebody's function are failures of the run, with their cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import millstream as ms


def engine_with(place: str, leave: Callable[..., Any]) -> ms.Engine:
    engine = ms.Engine(host="local")
    rows: Any = leave if place == "source" else [{"ts": 1, "v": 1}]
    stream = engine.stream("s", rows, schema="ts BIGINT, v BIGINT", progress=ms.ordered("ts"))
    own = place == "window"
    windowed = stream.window("ts", extent=leave, wids=leave) if own else stream.window("ts", range=10)
    call = ms.udaf(leave, "v", returns="int64") if place == "aggregate" else ms.count()
    query = windowed.agg(n=call).named("q")
    if place == "sink":
        query.for_each(leave)
    if place == "on_epoch":
        engine.on_epoch(leave)
    return engine


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt("now"), GeneratorExit()])
@pytest.mark.parametrize("place", ["aggregate", "source", "window", "sink", "on_epoch"])
def test_an_exit_in_somebodys_function_is_a_failure(place: str, error: BaseException) -> None:
    def leave(*_: object) -> Any:
        raise error

    run = engine_with(place, leave).start(ms.available_now(), end_of_stream=True)
    with pytest.raises(ms.MillstreamError, match=type(error).__name__):
        run.await_termination()

    assert run.exception is not None
    assert run.exception.__cause__ is error
