"""A run on a terminal is shown; a run in a pipe is not."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator

import pytest
from rich.console import Console

import millstream as ms
from millstream.runtime.reports.display import panel


def counted() -> ms.Engine:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [{"ts": 3}, {"ts": 14}], progress=ms.ordered("ts"))
    stream.window("ts", range=10).agg(n=ms.count()).named("counts")
    return engine


def test_a_run_in_a_pipe_says_nothing() -> None:
    out = io.StringIO()

    counted().start(ms.available_now()).watch(Console(file=out))

    assert "" == out.getvalue()


def test_a_terminal_shows_streams_and_queries_while_a_run_works() -> None:
    def slow() -> Iterator[list[dict[str, int]]]:
        for i in range(3):
            yield [{"ts": 10 * i + j} for j in range(10)]
            time.sleep(0.3)

    engine = ms.Engine(host="local")
    stream = engine.stream("numbers", slow(), progress=ms.ordered("ts"))
    stream.window("ts", range=5).agg(n=ms.count()).named("counts")
    out = io.StringIO()

    engine.start(ms.available_now(), end_of_stream=True).watch(Console(file=out, width=120, force_terminal=True))

    assert ", 10 rows" in out.getvalue()  # of whichever epoch it was seen in
    assert "stream numbers" in out.getvalue()
    assert "query counts" in out.getvalue()


def test_a_failure_is_raised_to_the_one_who_watches() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [{"ts": 3}], progress=ms.ordered("ts"))
    stream.window("ts", range=10).agg(n=ms.count()).named("broken").for_each(lambda *_: 1 / 0)

    with pytest.raises(ms.SinkError, match="division by zero"):
        engine.start(ms.available_now(), end_of_stream=True).watch(Console(file=io.StringIO()))


def test_the_panel_has_a_row_a_stream_and_a_row_a_query() -> None:
    run = counted().start(ms.available_now())
    run.await_termination()
    out = io.StringIO()

    Console(file=out, width=120).print(panel(run.progress))

    shown = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.getvalue().splitlines() if "│" in line]
    assert ["stream s", "2", "0", "0", "14", "", "", ""] in shown
    assert ["query counts", "", "", "", "", "1", "1", "1"] in shown
