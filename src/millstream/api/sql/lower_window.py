"""From the window of a statement to `stream.window(…)`, and what a stream makes progress on."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from millstream.api.operations.windowed import Windowed
from millstream.api.sql.blame import at
from millstream.api.sql.cumulate import Cumulate
from millstream.api.stream import Stream
from millstream.core.domain import Domain, Kind
from millstream.core.problem import Problem
from millstream.kernels.ticks import domain_of
from millstream.sql.grammar import statements as sql
from millstream.sql.projection import resolve
from millstream.sql.statement_expressions import Names

_FLINK = "Flink and Spark count windows from their start, we from their end: write [RANGE …, SLIDE …, WATTR …] instead."


def windowed(stream: Stream, window: sql.Window, names: Names, problems: list[Problem]) -> Windowed | None:
    """The stream cut into the windows of a statement; None if that is not possible, and a problem says why."""
    before = len(problems)
    attribute, keys = named(window, names, problems)
    if len(problems) > before:
        return None
    with at(window.piece, problems):
        match window:
            case sql.ByRows():
                slide = None if window.slide is None else window.slide.value
                return stream.window(attribute, by="rows", range=window.range.value, slide=slide, partition_by=keys)
            case sql.Growing():
                return stream.window(
                    attribute,
                    range="all",
                    slide=window.slide.value,
                    start=_begin(stream, window, attribute),
                    partition_by=keys,
                    flush=window.flush,
                )
            case sql.ByTuple():
                per = "rank" if window.rank else "tuple"
                return stream.window(
                    attribute, range=window.range.value, slide=window.every.value, per=per, partition_by=keys
                )
            case sql.Sessions():
                return stream.window(attribute, gap=window.gap.value, partition_by=keys)
            case sql.Cumulating():
                return _cumulating(stream, window, str(attribute), keys)
            case sql.Sliding():
                return _sliding(stream, window, str(attribute), keys)
    return None


def named(window: sql.Window, names: Names, problems: list[Problem]) -> tuple[str | None, list[str]]:
    """The columns that a window is on, and is partitioned by."""
    keys = [resolve(key, names, problems) for key in window.partition]
    return None if window.attribute is None else resolve(window.attribute, names, problems), keys


def ticking(stream: Stream, attribute: str) -> Windowed:
    """A window for each value of the attribute: grouping on it."""
    domain = _domain(stream, attribute)
    length: Any = 1
    if domain.kind is Kind.TIMESTAMP:
        length = f"1 {domain.unit}"
    elif domain.kind is Kind.DECIMAL:
        length = str(Decimal(1).scaleb(-domain.scale))
    return stream.window(attribute, range=length)


def _sliding(stream: Stream, window: sql.Sliding, attribute: str, keys: list[str]) -> Windowed:
    if window.from_start and window.slide is not None:
        domain = _domain(stream, attribute)
        size, slide = domain.span(window.range.value, what="size"), domain.span(window.slide.value, what="slide")
        if slide <= 0 or size % slide:
            raise window.slide.piece.error("the size is not a multiple of the slide", _FLINK)
    slide_by = None if window.slide is None else window.slide.value
    return stream.window(
        attribute,
        range=[one.value for one in (window.range, *window.more)] if window.more else window.range.value,
        slide=slide_by,
        start=_begin(stream, window, attribute),
        partition_by=keys,
        flush=window.flush,
    )


def _begin(stream: Stream, window: sql.Sliding | sql.Growing, attribute: str | None) -> Any:
    """Where windows begin to count; a time that is written without a zone is one of the engine's, as in expressions."""
    start, domain = window.start, _domain(stream, str(attribute))
    if not isinstance(start, str) or domain.kind is not Kind.TIMESTAMP or domain.zone is None:
        return start
    try:
        moment = datetime.fromisoformat(start)
    except ValueError:  # the domain says what is wrong
        return start
    return moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(stream.engine.settings.zone))


def _cumulating(stream: Stream, window: sql.Cumulating, attribute: str, keys: list[str]) -> Windowed:
    domain = _domain(stream, attribute)
    step, size = domain.span(window.step.value, what="step"), domain.span(window.size.value, what="size")
    if step <= 0 or size % step:
        raise window.step.piece.error("the size is not a multiple of the step", "Choose a step that divides it.")
    shape = Cumulate(step, size)
    return stream.window(attribute, extent=shape.extent, wids=shape.wids, partition_by=keys)


def _domain(stream: Stream, attribute: str) -> Domain:
    return domain_of(stream.schema.field(attribute).type, attribute)
