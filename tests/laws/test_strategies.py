"""Every window kind, strategy and family of aggregates gives the answer of the definition.

Whatever the order of arrival, the cut into epochs and the punctuation, as long as rows obey it. Seeds are
fixed, so a failure names the stream that shows it; Hypothesis adds small streams that shrink.
"""

# ruff: noqa: B023 - a lambda made in a loop is called before the loop goes on

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.core.window import UserDefined
from millstream.ops.windowing.adaptive import Adaptive
from support import oracle
from support.bags import difference
from support.families import BOUNDED, COMPUTED, DIFFERENTIAL, FAMILIES, HOLISTIC, Aggregate
from support.harness import SCHEMA, Stepper, calls, cut, definitions, punctuated, run, some_rows, stray
from support.oracle import Row

SLIDING = ("auto", "wid", "paned", "differential", "buffered", "adaptive")
EVERY = {name: one for family in FAMILIES.values() for name, one in family.items()}
ORDINARY = {**DIFFERENTIAL, **BOUNDED, **HOLISTIC}
STREAMS = min(200, 10 * settings().max_examples)
"""`make quick` looks at fewer."""


def some_aggregates(rnd: random.Random, among: dict[str, Aggregate] = ORDINARY) -> dict[str, Aggregate]:
    # Computed arguments go through DuckDB, which is slow to wake: now and then is enough.
    names = rnd.sample(sorted(among), 2) + ([rnd.choice(sorted(COMPUTED))] if rnd.random() < 0.03 else [])
    return {name: EVERY[name] for name in names}


def some_stream(rnd: random.Random) -> tuple[list[Row], list[ms.Epoch], Any]:
    """Rows in order of arrival, the epochs they come in, and how the stream progresses."""
    rows = some_rows(rnd, rnd.randint(1, 32), rnd.choice([10, 60, 300]))
    disorder = rnd.choice([0, 3, 20, 400])
    rows = stray(rows, disorder, rnd)
    epochs = punctuated(cut(rows, rnd, most=16), rnd, group_wise=rnd.random() < 0.5)
    if rnd.random() < 0.5:
        return rows, [ms.Epoch(epoch.rows) for epoch in epochs], ms.bounded_disorder("ts", disorder)
    return rows, epochs, ms.supplied("ts")


def check(
    seed: int,
    ask: Callable[[ms.Stream], Any],
    windows: Callable[[list[Row]], dict[int, list[Row]]],
    rnd: random.Random,
    chosen: dict[str, Aggregate],
    groups: tuple[str, ...],
    *,
    apart: bool = False,
    **options: Any,
) -> None:
    """Compare with the definition; `apart`: each group has windows of its own."""
    rows, epochs, progress = some_stream(rnd)
    query = Stepper(lambda s: ask(s).group_by(*groups).agg(**calls(chosen), **options), progress=progress)
    left = oracle.result(query.play(epochs), groups, chosen)
    keys = {tuple(row[name] for name in groups) for row in rows} if apart else {None}
    parts = [[row for row in rows if key in (None, tuple(row[name] for name in groups))] for key in keys]
    expected = [one for part in parts for one in oracle.answers(windows(part), groups, definitions(chosen))]

    assert {} == difference(expected, left), f"seed {seed}, {options}"
    assert 0 == query.late, f"seed {seed}"
    assert 0 == query.operator.store.rows, f"seed {seed}: state is left after the end of the stream"


@pytest.mark.parametrize("strategy", [name for name in SLIDING if name != "adaptive"])
def test_disordered_streams_have_the_sliding_answers_of_the_definition(strategy: str) -> None:
    for seed in range(STREAMS):
        rnd = random.Random(seed)
        size, slide, start = rnd.randint(1, 30), rnd.randint(1, 30), rnd.choice([None, None, 0, 5, -7])
        check(
            seed,
            lambda s: s.window("ts", range=size, slide=slide, start=start),
            lambda rows: oracle.sliding(rows, "ts", size, slide, start),
            rnd,
            some_aggregates(rnd),
            rnd.choice([(), ("k",), ("k", "v")]),
            strategy=strategy,
        )


@pytest.mark.parametrize(("every", "per"), [(1, "tuple"), (3, "tuple"), (3, "rank")])
def test_disordered_streams_have_the_slide_by_tuple_answers_of_the_definition(every: int, per: str) -> None:
    for seed in range(STREAMS):
        rnd = random.Random(seed)
        size = rnd.randint(1, 30)
        bins = seed % 4 != 0
        check(
            seed,
            lambda s: s.window("ts", range=size, slide=every, per=per),
            lambda rows: oracle.by_tuple(rows, "ts", size, every, rank=per == "rank"),
            rnd,
            some_aggregates(rnd, {**DIFFERENTIAL, **BOUNDED} if bins else ORDINARY),
            rnd.choice([(), ("k",)]),
            strategy="bins" if bins else "buffered",
        )


def test_dense_and_thin_streams_have_the_adaptive_answers_of_the_definition() -> None:
    switches = {"eager": 0, "lazy": 0}
    again = 0
    for seed in range(STREAMS * 3 // 2):
        rnd = random.Random(seed)
        size, slide = rnd.choice([(10, 10), (12, 4), (7, 3), (20, 1), (3, 5)])
        chosen = some_aggregates(rnd)
        rows = tidal(rnd)
        groups = rnd.choice([(), ("k",)])
        hysteresis = rnd.choice([0.0, 0.25, 0.6])
        query = Stepper(
            lambda s: (
                s.window("ts", range=size, slide=slide)
                .group_by(*groups)
                .agg(**calls(chosen), strategy="adaptive", hysteresis=hysteresis)
            )
        )
        left = query.play(punctuated(cut(rows, rnd, most=25), rnd, group_wise=rnd.random() < 0.3))
        operator = query.operator
        assert isinstance(operator, Adaptive)
        switches = {name: switches[name] + operator.switches[name] for name in switches}
        again += operator.switches["eager"] > 1 and operator.switches["lazy"] > 0
        expected = oracle.answers(oracle.sliding(rows, "ts", size, slide), groups, definitions(chosen))

        assert {} == difference(expected, oracle.result(left, groups, chosen)), f"seed {seed}"
    assert switches["eager"] > 0
    assert switches["lazy"] > 0
    assert again > 0, "no stream turned eager, lazy and eager again"


def tidal(rnd: random.Random) -> list[Row]:
    """Two groups whose rows come dense, then thin, then dense again, at different times."""
    rows: list[Row] = []
    for key in ("a", "b"):
        at = rnd.randint(0, 10)
        for stretch in range(4):
            dense = (stretch + (key == "b")) % 2 == 0
            for _ in range(rnd.randint(7, 10) if dense else rnd.randint(2, 3)):
                at += rnd.randint(0, 1) if dense else rnd.randint(4, 15)
                rows.append(
                    {"ts": at, "k": key, "v": rnd.choice([None, *range(6)]), "f": rnd.choice([None, 0.25, 1.5])}
                )
    return stray(rows, rnd.choice([0, 4, 15]), rnd)


@pytest.mark.parametrize("groups", [(), ("k",)])
def test_adaptive_groups_do_not_thrash_at_the_threshold(groups: tuple[str, ...]) -> None:
    # One row a tick, punctuated each slide: the volume wavers by a slide about a level that is not moving.
    rows = [{"ts": ts, "k": "a", "v": ts, "f": 0.25} for ts in range(240)]
    for size in (4, 12, 20, 36):
        ran = run(
            pa.Table.from_pylist(rows, schema=SCHEMA),
            lambda s: (
                s.window("ts", range=size, slide=4)
                .group_by(*groups)
                .agg(n=ms.count(), s=ms.sum("v"), strategy="adaptive", hysteresis=0.5)
            ),
            progress=ms.ordered("ts"),
            epoch_rows=8,
        )
        operator = ran.operator
        assert isinstance(operator, Adaptive)

        assert operator.switches["eager"] + operator.switches["lazy"] <= 2, f"range {size}: {operator.switches}"


def test_landmark_windows_have_the_answers_of_the_definition() -> None:
    for seed in range(60):
        rnd = random.Random(seed)
        slide = rnd.randint(1, 30)
        groups = rnd.choice([(), ("k",)])
        chosen = some_aggregates(rnd)
        rows = stray(some_rows(rnd, rnd.randint(1, 40), rnd.choice([10, 60, 300])), rnd.choice([0, 20]), rnd)
        ran = run(
            iter([pa.Table.from_pylist(epoch, schema=SCHEMA) for epoch in cut(rows, rnd)]),
            lambda s: s.window("ts", range="all", slide=slide).group_by(*groups).agg(**calls(chosen)),
            progress=ms.bounded_disorder("ts", 20),
        )
        windows = oracle.landmark(rows, "ts", slide, max(row["ts"] for row in rows) // slide)

        assert {} == difference(oracle.answers(windows, groups, definitions(chosen)), ran.answers(groups, chosen)), seed


def test_sessions_have_the_answers_of_the_definition() -> None:
    for seed in range(60):
        rnd = random.Random(seed)
        gap = rnd.randint(1, 12)
        check(
            seed,
            lambda s: s.window("ts", gap=gap),
            lambda rows: oracle.sessions(rows, "ts", gap),
            rnd,
            some_aggregates(rnd),
            rnd.choice([(), ("k",)]),
            apart=True,
        )


def test_user_defined_windows_have_the_answers_of_their_extents() -> None:
    # Window w holds [10w, 10w + 15), but odd windows only their first five: overlaps, and gaps in them.
    window = UserDefined(
        extent_of=lambda w: (10 * w, 10 * w + (5 if w % 2 else 15)),
        wids_of=lambda a: [w for w in (a // 10 - 1, a // 10) if 10 * w <= a < 10 * w + (5 if w % 2 else 15)],
    )
    for seed in range(40):
        rnd = random.Random(seed)
        check(
            seed,
            lambda s: s.window("ts", extent=window.extent, wids=window.wids),
            lambda rows: {
                w: [row for row in rows if window.extent(w)[0] <= row["ts"] < window.extent(w)[1]]
                for w in range(-5, 40)
            },
            rnd,
            some_aggregates(rnd),
            rnd.choice([(), ("k",)]),
        )


def numbered(rows: list[Row], size: int, slide: int) -> dict[int, list[Row]]:
    """Row windows by the definition: sliding over the number of the row, from 1."""
    return oracle.sliding([{**row, "number": i} for i, row in enumerate(rows, 1)], "number", size, slide, start=1)


def test_row_windows_by_arrival_have_the_answers_of_the_definition() -> None:
    for seed in range(60):
        rnd = random.Random(seed)
        size, slide = rnd.randint(1, 9), rnd.randint(1, 9)
        check(
            seed,
            lambda s: s.window(by="rows", range=size, slide=slide),
            lambda rows: numbered(rows, size, slide),
            rnd,
            some_aggregates(rnd),
            rnd.choice([(), ("k",)]),
        )


def test_partitioned_row_windows_have_the_answers_of_the_definition() -> None:
    for seed in range(60):
        rnd = random.Random(seed)
        size, slide = rnd.randint(1, 9), rnd.randint(1, 9)
        check(
            seed,
            lambda s: s.window(by="rows", range=size, slide=slide, partition_by="k"),
            lambda rows: numbered(rows, size, slide),
            rnd,
            some_aggregates(rnd),
            ("k",),
            apart=True,
        )


def test_row_windows_by_rank_have_the_answers_of_the_definition() -> None:
    for seed in range(60):
        rnd = random.Random(seed)
        size, slide = rnd.randint(1, 9), rnd.randint(1, 9)
        check(
            seed,
            lambda s: s.window("ts", by="rows", range=size, slide=slide),
            # Ties stand in order of arrival, and `sorted` keeps it.
            lambda rows: numbered(sorted(rows, key=lambda row: row["ts"]), size, slide),
            rnd,
            some_aggregates(rnd),
            rnd.choice([(), ("k",)]),
        )


@pytest.mark.parametrize("strategy", SLIDING)
def test_several_windows_at_once_have_the_answers_of_each(strategy: str) -> None:
    for seed in range(12):
        rnd = random.Random(seed)
        slide = rnd.choice([2, 3, 5])
        sizes = sorted({rnd.randint(1, 9), 6 * slide, rnd.randint(10, 40)})
        start = rnd.choice([None, 4])
        chosen = some_aggregates(rnd)
        rows, epochs, progress = some_stream(rnd)
        ran = run(
            iter(epochs),
            lambda s: (
                s.window("ts", range=sizes, slide=slide, start=start)
                .group_by("k")
                .agg(**calls(chosen), strategy=strategy)
            ),
            progress=progress,
        )
        expected = [
            ((start or 0) + (answer[0] + 1) * slide - size, *answer)
            for size in sizes
            for answer in oracle.answers(oracle.sliding(rows, "ts", size, slide, start), ("k",), definitions(chosen))
        ]
        actual = [
            (row["window_start"], row["window_id"], row["k"], *(row[name] for name in chosen))
            for row in ran.query.table().to_pylist()
        ]

        assert {} == difference(expected, actual), f"seed {seed}"


@pytest.mark.parametrize("strategy", SLIDING)
def test_rows_in_a_gap_between_windows_are_counted_as_outside(strategy: str) -> None:
    rows = [{"ts": ts, "k": "a", "v": ts, "f": None} for ts in range(-10, 20)]
    ran = run(
        pa.Table.from_pylist(rows, schema=SCHEMA),
        lambda s: s.window("ts", range=2, slide=5).agg(n=ms.count(), strategy=strategy),
        progress=ms.ordered("ts"),
        epoch_rows=7,
    )

    assert [(wid, 2) for wid in range(-2, 4)] == sorted(ran.answers((), ["n"]))
    assert {"rows_in": 30, "outside": 18, "accepted": 12} == {n: v for n, v in ran.books.items() if v}


@pytest.mark.parametrize("strategy", SLIDING)
def test_rows_before_the_start_count_only_in_windows_that_reach_back_to_them(strategy: str) -> None:
    # start 0, range 10, slide 4: window 0 is [-6, 4), so -6 is in it and -7 in none.
    rows = [{"ts": ts, "k": "a", "v": ts, "f": None} for ts in (-30, -7, -6, -1, 0, 3, 4)]
    ran = run(
        pa.Table.from_pylist(rows, schema=SCHEMA),
        lambda s: s.window("ts", range=10, slide=4, start=0).agg(n=ms.count(), strategy=strategy),
        progress=ms.ordered("ts"),
        epoch_rows=3,
    )

    assert [(0, 4), (1, 4), (2, 2)] == ran.answers((), ["n"])
    assert 2 == ran.books["outside"]


@pytest.mark.parametrize("strategy", SLIDING)
def test_a_start_before_the_epoch_closes_at_the_end_of_the_stream(strategy: str) -> None:
    rows = [{"ts": ts, "k": "a", "v": ts, "f": None} for ts in (1, 7)]
    ran = run(
        pa.Table.from_pylist(rows, schema=SCHEMA),
        lambda s: s.window("ts", range=4, slide=2, start=-5).agg(n=ms.count(), strategy=strategy),
    )

    assert [(3, 1), (4, 1), (6, 1), (7, 1)] == ran.answers((), ["n"])


DAY = datetime(2024, 3, 1, tzinfo=UTC)
ATTRIBUTES: dict[str, tuple[pa.DataType, Callable[[int], Any], Any, Any]] = {
    **{
        f"timestamp[{unit}{', ' + zone if zone else ''}]": (
            pa.timestamp(unit, zone),
            lambda tick, zone=zone: (DAY if zone else DAY.replace(tzinfo=None)) + timedelta(seconds=tick),
            "10 seconds",
            "4 seconds",
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Europe/Madrid")
    },
    "date32": (pa.date32(), lambda tick: date(2024, 3, 1) + timedelta(days=tick), "10 days", "4 days"),
    "decimal(9,2)": (pa.decimal128(9, 2), lambda tick: Decimal(tick) / 4, "2.5", "1"),
    "int32": (pa.int32(), lambda tick: tick, 10, 4),
    "int8": (pa.int8(), lambda tick: tick, 10, 4),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_windows_on_any_ordered_attribute_are_those_of_its_ticks(name: str) -> None:
    kind, value, size, slide = ATTRIBUTES[name]
    rnd = random.Random(name)
    ticks = [row["ts"] for row in stray(some_rows(rnd, 40, 60, low=0), 6, rnd)]
    schema = pa.schema([("at", kind), ("k", pa.string())])
    rows = [{"at": value(tick), "k": rnd.choice("ab")} for tick in ticks]
    disorder = {"date32": "6 days", "decimal(9,2)": "1.5"}.get(name, 6 if name.startswith("int") else "6 seconds")
    ran = run(
        pa.Table.from_pylist(rows, schema=schema),
        lambda s: s.window("at", range=size, slide=slide, start=value(0)).group_by("k").agg(n=ms.count()),
        progress=ms.bounded_disorder("at", disorder),
        schema=schema,
        epoch_rows=6,
    )
    plain = [{"ts": tick, "k": row["k"]} for tick, row in zip(ticks, rows, strict=True)]
    expected = {
        (wid, value((wid + 1) * 4 - 10), value((wid + 1) * 4), key, n)
        for wid, key, n in oracle.answers(oracle.sliding(plain, "ts", 10, 4, 0), ("k",), {"n": len})
    }
    actual = ran.query.table()

    assert {} == difference(expected, [tuple(row.values()) for row in actual.to_pylist()])
    # An edge may lie beyond the last value of a narrow type, so it has a wider one.
    wide = {"decimal(9,2)": pa.decimal128(18, 2), "int32": pa.int64(), "int8": pa.int64()}.get(name, kind)
    assert [wide, wide] == [actual.schema.field(edge).type for edge in ("window_start", "window_end")]


@pytest.mark.parametrize(
    "window",
    [{"gap": "5 seconds"}, {"range": "5 seconds", "per": "tuple"}, {"range": "5 seconds", "slide": 2, "per": "rank"}],
    ids=["session", "tuple", "rank"],
)
def test_nanoseconds_half_a_century_apart_do_not_wrap(window: dict[str, Any]) -> None:
    second, then = 10**9, 1_700_000_000 * 10**9
    rows = [{"ts": at, "k": key} for key in range(20) for at in (0, 2 * second, then, then + second)]
    schema = pa.schema([("ts", pa.timestamp("ns")), ("k", pa.int64())])
    ran = run(
        pa.Table.from_pylist(rows, schema=schema),
        lambda s: s.window("ts", **window).group_by("k").agg(n=ms.count()),
        schema=schema,
    )
    windows = (
        oracle.sessions([row for row in rows if row["k"] == 0], "ts", 5 * second)
        if "gap" in window
        else oracle.by_tuple(rows, "ts", 5 * second, window.get("slide", 1), rank=window["per"] == "rank")
    )
    spread = {
        wid: [{**row, "k": key} for row in found for key in range(20) if "gap" in window or row["k"] == key]
        for wid, found in windows.items()
    }

    assert {} == difference(oracle.answers(spread, ("k",), {"n": len}), ran.answers(("k",), ["n"]))


@pytest.mark.parametrize("strategy", SLIDING)
def test_rows_far_apart_cost_no_more_than_rows_close_by(strategy: str) -> None:
    # A thousand million empty windows lie between the two: whoever walks them does not come back.
    ran = run(
        [{"ts": 0, "k": "a", "v": 1, "f": None}, {"ts": 2 * 10**9, "k": "a", "v": 1, "f": None}],
        lambda s: s.window("ts", range=4, slide=2).group_by("k").agg(n=ms.count(), strategy=strategy),
        progress=ms.ordered("ts"),
    )

    assert 4 == ran.query.table().num_rows


WINDOWS: dict[str, dict[str, Any]] = {
    "sliding": {"range": 10, "slide": 4},
    "gaps": {"range": 2, "slide": 5},
    "session": {"gap": 3},
    "landmark": {"range": "all", "slide": 7},
    "partitioned": {"by": "rows", "range": 3, "slide": 2, "partition_by": "k"},
}


@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("engines", [2, 3])
def test_a_stream_split_by_key_over_several_engines_has_the_same_answers(kind: str, engines: int) -> None:
    rnd = random.Random(f"{kind} {engines}")
    rows = stray(some_rows(rnd, 60, 80, keys="abcdef"), 5, rnd)
    # A landmark's last window is that of the last row, which every share must have.
    rows += [{"ts": 90, "k": key, "v": 1, "f": None} for key in "abcdef"]

    def answer(share: list[Row]) -> list[Any]:
        return run(
            pa.Table.from_pylist(share, schema=SCHEMA),
            lambda s: (
                s.window(None if kind == "partitioned" else "ts", **WINDOWS[kind])
                .group_by("k")
                .agg(n=ms.count(), s=ms.sum("v"), m=ms.median("v"))
            ),
            progress=ms.bounded_disorder("ts", 5),
            epoch_rows=9,
        ).answers(("k",), ["n", "s", "m"])

    parts = [[row for row in rows if "abcdef".index(row["k"]) % engines == part] for part in range(engines)]

    assert {} == difference(answer(rows), [one for part in parts for one in answer(part)])


small_rows = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(-6, 20), "k": st.sampled_from(["a", "b", None]), "v": st.none() | st.integers(0, 5)}
    ),
    max_size=12,
)


@given(
    small_rows,
    st.integers(1, 8),
    st.integers(1, 8),
    st.sampled_from([None, 0, 3]),
    st.sampled_from(SLIDING),
    st.randoms(use_true_random=False),
)
def test_any_order_that_punctuation_allows_and_any_cut_into_epochs_gives_the_same_bag(
    rows: list[Row], size: int, slide: int, start: int | None, strategy: str, rnd: random.Random
) -> None:
    rows = [{**row, "f": None} for row in rows]
    ran = run(
        iter(punctuated(cut(rows, rnd, most=4), rnd, group_wise=True)),
        lambda s: (
            s.window("ts", range=size, slide=slide, start=start).group_by("k").agg(**calls(NAMED), strategy=strategy)
        ),
        progress=ms.supplied("ts"),
    )
    expected = oracle.answers(oracle.sliding(rows, "ts", size, slide, start), ("k",), definitions(NAMED))

    assert {} == difference(expected, ran.answers(("k",), NAMED))


NAMED = {name: EVERY[name] for name in ("n", "s", "mx", "md")}


@given(
    small_rows,
    st.integers(1, 8),
    st.integers(1, 3),
    st.sampled_from(["tuple", "rank"]),
    st.randoms(use_true_random=False),
)
def test_any_cut_into_epochs_gives_the_same_slide_by_tuple_windows(
    rows: list[Row],
    size: int,
    every: int,
    per: str,
    rnd: random.Random,
) -> None:
    rows = [{**row, "f": None} for row in rows]
    ran = run(
        iter(punctuated(cut(rows, rnd, most=4), rnd, group_wise=True)),
        lambda s: s.window("ts", range=size, slide=every, per=per).agg(n=ms.count(), m=ms.max("v")),
        progress=ms.supplied("ts"),
    )
    chosen = {"n": EVERY["n"], "m": EVERY["mx"]}
    expected = oracle.answers(oracle.by_tuple(rows, "ts", size, every, rank=per == "rank"), (), definitions(chosen))

    assert {} == difference(expected, ran.answers((), chosen))


@given(small_rows, st.integers(1, 5), st.randoms(use_true_random=False))
def test_sessions_merge_however_late_the_row_that_joins_them(rows: list[Row], gap: int, rnd: random.Random) -> None:
    rows = [{**row, "f": None} for row in rows]
    ran = run(
        iter(punctuated(cut(rows, rnd, most=3), rnd)),
        lambda s: s.window("ts", gap=gap).agg(n=ms.count(), s=ms.sum("v")),
        progress=ms.supplied("ts"),
    )
    chosen = {"n": EVERY["n"], "s": EVERY["s"]}

    assert {} == difference(
        oracle.answers(oracle.sessions(rows, "ts", gap), (), definitions(chosen)), ran.answers((), chosen)
    )
