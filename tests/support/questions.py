"""One query of every kind that keeps state, to be asked on any host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import millstream as ms

Ask = Callable[[ms.Stream], Any]
BOUNDED: dict[str, Any] = {"n": ms.count(), "total": ms.sum("v"), "high": ms.max("v"), "floats": ms.sum("f")}
HOLISTIC: dict[str, Any] = {**BOUNDED, "middle": ms.median("v"), "different": ms.count_distinct("v")}


def _windows(calls: dict[str, Any], *, strategy: str = "auto", **window: Any) -> Ask:
    return lambda s: s.window("ts", **window).group_by("k").agg(**calls, strategy=strategy)


def _distinct(stream: ms.Stream) -> Any:
    return stream.select("k", "v").distinct()


def _chain(stream: ms.Stream) -> Any:
    counts = stream.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count())
    return counts.window("window_end", range=20).agg(most=ms.max("n"), windows=ms.count())


def _held_chain(stream: ms.Stream) -> Any:
    slow, lazy = ms.slow_flush(rows=2, windows=3), ms.lazy_flush(windows=1)
    counts = stream.window("ts", range=10, slide=5, flush=slow).group_by("k").agg(n=ms.count())
    return counts.window("window_end", range=20, flush=lazy).group_by("n").agg(windows=ms.count())


def _pairs(how: str, *, keyed: bool, **near: Any) -> Ask:
    def ask(stream: ms.Stream) -> Any:
        later = stream.where("v > 2").select("ts AS at", "k AS key", "v AS w")
        on = [("k", "key")] if keyed else None
        return stream.join(later, on=on, how=how, time=("ts", "at"), where="w > 3 OR w <> v", **near)

    return ask


def _as_of(stream: ms.Stream) -> Any:
    later = stream.where("v > 2").select("ts AS at", "k AS key", "v AS w")
    return stream.join_as_of(later, on=[("k", "key")], time=("ts", "at"), within=15, how="left", strict=True)


def _difference(stream: ms.Stream) -> Any:
    return stream.select("ts", "k").difference(stream.where("v > 2").select("ts", "k"))


def _enriched(stream: ms.Stream) -> Any:
    known = pa.table({"k": ["a", "b", "b", None], "kind": ["one", "two", "three", "none"]})
    return stream.enrich(known, on="k", how="left").window("ts", range=10).group_by("kind").agg(**BOUNDED)


QUESTIONS: dict[str, Ask] = {
    "tumbling": _windows(BOUNDED, range=10),
    "sliding": _windows(HOLISTIC, range=20, slide=5),
    "several": _windows(BOUNDED, range=[10, 20, 40], slide=10),
    "by window": _windows(HOLISTIC, range=20, slide=5, strategy="wid"),
    "differential": _windows(BOUNDED, range=20, slide=5, strategy="differential"),
    "buffered": _windows(HOLISTIC, range=20, slide=5, strategy="buffered"),
    "adaptive": _windows(BOUNDED, range=20, slide=5, strategy="adaptive"),
    "several by window": _windows(BOUNDED, range=[10, 20], slide=10, strategy="wid"),
    "several differential": _windows(BOUNDED, range=[10, 20], slide=10, strategy="differential"),
    "several adaptive": _windows(BOUNDED, range=[10, 20], slide=10, strategy="adaptive"),
    "landmark": _windows(HOLISTIC, range="all", slide=15),
    "sessions": _windows(HOLISTIC, gap=3),
    "slide by tuple": _windows(BOUNDED, range=12, per="tuple"),
    "slide by rank": _windows(HOLISTIC, range=12, slide=3, per="rank"),
    "rows": lambda s: s.window(range=10, slide=4, by="rows").agg(**HOLISTIC),
    "rows by key": lambda s: s.window(range=10, slide=4, by="rows", partition_by=("k",)).agg(**HOLISTIC),
    "distinct": _distinct,
    "sort": lambda s: s.sort("ts"),
    "top": lambda s: s.top(2, per=("ts", "k"), by=["v DESC", "f"], number="place"),
    "chain": _chain,
    "slow flush": _windows(HOLISTIC, range=20, slide=5, flush=ms.slow_flush(rows=3)),
    "lazy flush": _windows(BOUNDED, range=10, flush=ms.lazy_flush(windows=3)),
    "several with a flush": _windows(BOUNDED, range=[10, 20], strategy="wid", flush=ms.slow_flush(rows=1)),
    "landmark with a flush": _windows(HOLISTIC, range="all", slide=15, flush=ms.slow_flush(rows=1, windows=1)),
    "chain of flushes": _held_chain,
    "pairs": _pairs("inner", keyed=True, within=(-3, 5)),
    "pairs and all rows": _pairs("full", keyed=True, window=7),
    "pairs without a key": _pairs("left", keyed=False, within=2),
    "rows with a partner": _pairs("semi", keyed=True, within=4),
    "rows without a partner": _pairs("anti", keyed=False, within=1),
    "as of": _as_of,
    "difference": _difference,
    "enriched": _enriched,
}
