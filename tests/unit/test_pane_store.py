"""Stores of panes, piece by piece: kinds of window, both ways to combine, forms, parts and the counting of rows."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.aggregate import AggregateCall
from millstream.core.window import Grid, Sliding
from millstream.kernels.aggregates.aggregate_registry import build
from millstream.kernels.aggregates.base import Algebra, Work
from millstream.kernels.dense import Ladder, Lattice
from millstream.kernels.partials import KEY, ROWS, Bound, Merged, Partials
from millstream.kernels.sliding import combine_runs
from millstream.ops.panes.ended_windows import InMatrices, InRuns, ended
from millstream.ops.panes.growing import GrowingPart
from millstream.ops.panes.kinds import NEVER, Kinds, first_window
from millstream.ops.panes.part import PanePart, Taken
from millstream.ops.panes.store import PaneStore
from millstream.ops.panes.store_form import PaneForm, converted, form_of, marked
from millstream.ops.windowing.base import as_segment
from millstream.plan import nodes
from millstream.plan.plan import Plan
from millstream.plan.rewrite.share_panes import share_panes
from millstream.runtime.compile.store_specs import store_spec
from support.window_sets import near, some_rows

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("r", pa.int64()), ("v", pa.int64()), ("f", pa.float64())])


def bound(name: str, function: str, column: str | None, kind: pa.DataType | None) -> Bound:
    columns = () if column is None else (column,)
    return Bound(name, build(AggregateCall(function, columns), [kind] if kind is not None else []), columns)


SUM, MAX, MEDIAN = (bound(f"{name} of v", name, "v", pa.int64()) for name in ("sum", "max", "median"))


def some_table(seed: int, n: int = 80, span: int = 60) -> pa.Table:
    return pa.Table.from_pylist(some_rows(random.Random(seed), n, span)).select(SCHEMA.names).cast(SCHEMA)


# --- kinds -------------------------------------------------------------------------------------------------

SOME = [(4, 4, None), (6, 3, None), (2, 5, None), (12, 4, 3), (5, 10, -5), (7, 1, 17)]


@pytest.mark.parametrize("since", [None, -3, 0, 8])
@pytest.mark.parametrize("which", SOME)
def test_a_pane_is_inside_if_some_window_that_is_answered_holds_it(which: tuple[Any, ...], since: int | None) -> None:
    size, slide, start = which
    window = Sliding(size=size, slide=slide, start=start)
    kinds = Kinds([(window, since)], Grid(0, 1))
    ticks = range(-40, 40)
    wanted = [any(since is None or window.extent(wid)[0] >= since for wid in window.wids(at)) for at in ticks]

    assert wanted == kinds.inside(np.array(ticks)).tolist()


@pytest.mark.parametrize("which", SOME)
def test_what_is_needed_is_where_the_first_open_window_begins(which: tuple[Any, ...]) -> None:
    size, slide, start = which
    window = Sliding(size=size, slide=slide, start=start)
    kinds = Kinds([(window, None)], Grid(0, 1))
    for at in range(-30, 30):
        open_windows = (wid for wid in range(-60, 60) if window.extent(wid)[1] > at)
        first = next(wid for wid in open_windows if window.first is None or wid >= window.first)

        assert [window.extent(first)[0]] == kinds.needed(np.array([at])).tolist()


def test_the_first_window_of_one_who_comes_later_begins_at_or_after_it() -> None:
    window = Sliding(size=10, slide=4, start=2)
    for since in range(-20, 20):
        first = first_window(window, since)

        assert window.extent(first)[0] >= since
        assert first == 0 or window.extent(first - 1)[0] < since
    assert NEVER == first_window(Sliding(size=10, slide=4), None)


# --- windows that have ended: matrices and runs --------------------------------------------------------------


def merged_of(table: pa.Table, pane: int, *aggregates: Bound) -> tuple[Partials, Merged]:
    partials = Partials(aggregates, ("k",))
    return partials, partials.merge([partials.lift(table, table["ts"].to_numpy() // pane)])


def answers(partials: Partials, merged: Merged, made: Any) -> dict[Any, list[Any]]:
    """By kind, group and window: what each aggregate gives."""
    out: dict[Any, list[Any]] = {}
    kinds = sorted(made.found)
    names = merged.groups["k"].to_pylist()
    for _, algebra, work in partials.open(merged.bundle.fixed):
        if not kinds:
            continue
        lowered = algebra.lower(algebra.close(Work(made.combined(algebra, work, kinds), work.pool))).to_pylist()
        at = ((i, names[g], w) for i in kinds for g, w in zip(made.found[i].group, made.found[i].window, strict=True))
        for key, value in zip(at, lowered, strict=True):
            out.setdefault(key, []).append(value)
    return out


def listed(found: dict[Any, list[Any]]) -> list[dict[str, Any]]:
    return [{"at": at, **{f"a{i}": value for i, value in enumerate(values)}} for at, values in found.items()]


@pytest.mark.parametrize("seed", range(20))
def test_matrices_and_runs_give_the_same_windows_and_answers(seed: int) -> None:
    rnd = random.Random(seed)
    windows = [Sliding(size=a, slide=b, start=c) for a, b, c in rnd.sample(SOME, 3)]
    grid = Grid.of(windows)
    kinds = Kinds([(window, rnd.choice([None, 5])) for window in windows], grid)
    table = some_table(seed)
    partials = Partials([SUM, MAX, bound("dev", "stddev", "f", pa.float64())], ("k",))
    merged = partials.merge([partials.lift(table, (table["ts"].to_numpy() - grid.base) // grid.pane)])
    was, now = rnd.randint(-25, 0), rnd.randint(35, 60)
    bounds = np.full(merged.groups.num_rows, was), np.full(merged.groups.num_rows, now)
    dense = ended(merged, kinds, range(len(kinds)), *bounds)
    runs = InRuns.of(merged, kinds, range(len(kinds)), *bounds)

    assert isinstance(dense, InMatrices)
    by_runs = answers(partials, merged, runs)
    assert by_runs
    assert {} == near(listed(by_runs), listed(answers(partials, merged, dense)))


def test_windows_of_far_apart_rows_are_no_matrices() -> None:
    table = pa.table({"ts": [0, 2**40], "k": ["a", "b"], "v": [1, 2]})
    _, merged = merged_of(table, 1, SUM)
    kinds = Kinds([(Sliding(size=4, slide=2), None)], Grid(0, 1))
    made = ended(merged, kinds, [0], np.array([-4, -4]), np.array([2**40 + 9, 2**40 + 9]))

    assert isinstance(made, InRuns)
    assert 4 == len(made.found[0].window)


@pytest.mark.parametrize("name", ["sum", "max", "min", "avg", "count", "stddev", "bool_or"])
def test_a_ladder_gives_what_runs_of_panes_give(name: str) -> None:
    rnd = random.Random(name)
    kernel = build(AggregateCall(name, ("v",)), [pa.bool_() if name == "bool_or" else pa.int64()])
    assert isinstance(kernel, Algebra)
    panes, groups = 23, 3
    values = [rnd.choice([None, *range(9)]) for _ in range(panes * groups)]
    column = pa.array([None if v is None else v > 4 for v in values] if name == "bool_or" else values)
    lifted = kernel.lift([column])  # by group, then pane
    group, key = np.divmod(np.arange(panes * groups), panes)
    ladder = Ladder.of(kernel, lifted.columns, Lattice.of(group, key, groups, 0, panes))
    for first, step, length in [(0, 1, 1), (2, 3, 5), (0, 2, 8), (1, 4, 11), (0, 1, 23)]:
        count = (panes - first - length) // step + 1
        dense = kernel.lower(kernel.close(Work(ladder.windows(first, step, count, length), lifted.pool))).to_pylist()
        at = [(w, g) for w in range(count) for g in range(groups)]
        start = np.array([g * panes + first + w * step for w, g in at])
        sliding = combine_runs(kernel, lifted.columns, start, start + length)
        expected = kernel.lower(kernel.close(Work(sliding, lifted.pool))).to_pylist()

        assert {} == near(
            listed({at: [one] for at, one in enumerate(expected)}), listed({at: [one] for at, one in enumerate(dense)})
        )


def test_groups_of_two_kinds_of_window_are_not_taken_for_one_another() -> None:
    every = np.array([0, 1, 2, 2, 1, 0])
    taken = Taken(pa.table({"k": ["a", "b", "c"]}))

    assert ["a", "b", "c"] == taken.take("k", every[:3]).to_pylist()
    assert ["c", "b", "a"] == taken.take("k", every[3:]).to_pylist()
    assert ["a", "b"] == taken.take("k", every[:2]).to_pylist()


# --- forms ---------------------------------------------------------------------------------------------------


def cells(merged: Merged) -> dict[Any, Any]:
    fixed = merged.bundle.fixed.to_pylist()
    return {(row["k"], row[KEY]): {n: v for n, v in row.items() if n not in ("k", KEY)} for row in fixed}


@pytest.mark.parametrize(("was", "now"), [(2, 6), (2, 2), (3, 12)])
def test_panes_that_become_longer_are_those_of_the_rows_themselves(was: int, now: int) -> None:
    table = some_table(3)
    short, long = Partials([SUM, MAX, MEDIAN], ("k",)), Partials([MEDIAN, SUM, MAX], ("k",))
    before, after = (
        PaneForm(0, pane, tuple(a.name for a in of.aggregates)) for pane, of in ((was, short), (now, long))
    )
    lifted = short.lift(table, table["ts"].to_numpy() // was)
    made = long.merge([converted(lifted, before, after, long, SCHEMA)])
    expected = long.merge([long.lift(table, table["ts"].to_numpy() // now)])

    assert cells(expected) == cells(made)
    bags = [sorted(map(repr, one.bundle.bags[0].to_pylist())) for one in (expected, made)]
    assert bags[0] == bags[1]


def test_panes_that_become_shorter_stand_where_they_began_and_new_columns_are_of_no_rows() -> None:
    table = some_table(4)
    old, new = Partials([SUM], ("k",)), Partials([MAX, MEDIAN, SUM], ("k",))
    was, now = PaneForm(1, 6, ("sum of v",)), PaneForm(1, 2, ("max of v", "median of v", "sum of v"))
    lifted = old.lift(table, (table["ts"].to_numpy() - 1) // 6)
    made = new.merge([converted(lifted, was, now, new, SCHEMA)])
    before = {(k, key * 3): row for (k, key), row in cells(old.merge([lifted])).items()}

    assert before.keys() == cells(made).keys()
    for at, row in cells(made).items():
        assert row[ROWS] == before[at][ROWS]
        assert row["__ms_a0.0"] is None
        assert [row[f"__ms_a2.{j}"] for j in range(len(before[at]) - 1)] == [
            before[at][f"__ms_a0.{j}"] for j in range(len(before[at]) - 1)
        ]
    assert 0 == made.bundle.bags[1].num_rows


def test_a_segment_says_what_its_form_is() -> None:
    partials, merged = merged_of(some_table(1), 2, SUM)
    segment, form = as_segment(merged.bundle), PaneForm(0, 2, ("sum of v",))

    assert form_of(segment) is None
    assert form == form_of(marked(segment, form))
    assert ("sum of v",) == tuple(one.name for one in partials.aggregates)


# --- stores and parts ----------------------------------------------------------------------------------------


def store_of(*asked: Any) -> PaneStore:
    """The store that queries on one stream share."""
    stream = ms.Engine(host="local").stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    plan = Plan.of({f"q{i}": one(stream).node for i, one in enumerate(asked)})
    shared = share_panes(plan).plan
    found = {id(n): n for root in shared.roots for n in nodes.walk(root.node) if isinstance(n, nodes.Panes)}
    (panes,) = found.values()
    return PaneStore(store_spec(panes))


def ask(size: Any, slide: int, groups: Iterable[str] = ("k",), **calls: Any) -> Any:
    return lambda s: s.window("ts", range=size, slide=slide).group_by(*groups).agg(**(calls or {"n": ms.count()}))


def test_readers_of_other_groups_conditions_or_landmarks_have_parts_of_their_own() -> None:
    store = store_of(
        ask(10, 5, ("k", "r")),
        ask(20, 5, ("r", "k"), total=ms.sum("v")),
        ask(10, 5),
        ask("all", 5),
        ask("all", 5, total=ms.sum("v")),
    )
    kinds = {(type(part), part.spec.groups): len(part.readers) for part in store.parts}

    assert {(PanePart, ("k", "r")): 2, (PanePart, ("k",)): 1, (GrowingPart, ("k",)): 2} == kinds


def test_windows_that_would_make_many_short_panes_are_kept_apart() -> None:
    store = store_of(ask(3600, 3600), ask(3601, 3601))

    assert 2 == len(store.parts)
    assert 1 == len(store_of(ask(3600, 60), ask(60, 60)).parts)


@pytest.mark.parametrize("seed", range(5))
def test_rows_counted_as_partials_with_weights_are_counted_as_rows(seed: int) -> None:
    rnd = random.Random(seed)
    panes = np.array([rnd.randint(-9, 30) for _ in range(40)])
    bits = np.array([rnd.randint(0, 3) for _ in range(40)])

    def counted(*given: Any) -> dict[int, Any]:
        store = store_of(
            lambda s: ask(2, 5)(s.where("v > 1")),
            lambda s: ask(2, 5, total=ms.sum("v"))(s.where("v > 2")),
            lambda s: s.window("ts", range=3, slide=3, start=4).group_by("k").agg(n=ms.count()),
        )
        store.count_rows(*given)
        return {outlet: dict(figures) for outlet, figures in store.counts.items()}

    cell, weights = np.unique(panes * 4 + bits, return_counts=True)

    expected = counted(panes, bits)
    assert expected == counted(cell // 4, cell % 4, weights)
    assert all(40 == sum(figures.values()) for figures in expected.values())
    assert 1 < len({tuple(figures.values()) for figures in expected.values()})


def test_functions_of_one_name_keep_partials_of_their_own() -> None:
    def own(most: int) -> Any:
        parts: dict[str, Any] = {"partial": pa.list_(pa.int64()), "returns": "int64", "combine": lambda a, b: a + b}
        if most == 1:
            return ms.udaf_algebraic("v", lift=lambda vs: [vs.to_pylist()[0]], lower=lambda vs: vs[0], **parts)
        return ms.udaf_algebraic("v", lift=lambda vs: vs.to_pylist()[:2], lower=lambda vs: vs[-1], **parts)

    store = store_of(ask(10, 5, one=own(1)), ask(10, 5, two=own(2)))

    assert 2 == len({one.name for one in store.spec.aggregates})


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "disk"])
def test_rows_without_a_time_are_rejected_by_each_reader_with_its_own_columns(tmp_path: Path, *, durable: bool) -> None:
    rows = [
        {"t": 1, "k": "a", "v": 1, "w": 9},
        {"t": None, "k": "a", "v": 2, "w": 8},
        {"t": None, "k": "b", "v": 3, "w": 7},
    ]
    schema = pa.schema({"t": pa.int64(), "k": pa.string(), "v": pa.int64(), "w": pa.int64()})

    def ask(names: str) -> dict[str, tuple[list[dict[str, Any]], dict[str, int]]]:
        engine = ms.Engine(host="local", checkpoint=tmp_path / names if durable else None)
        stream = engine.stream("s", [rows], schema=schema)
        asks = {
            "a": lambda: stream.window("t", range=5).group_by("k").agg(n=ms.count(), total=ms.sum("v")),
            "b": lambda: stream.where("w > 7").window("t", range=10).agg(top=ms.max("w")),
        }
        queries = {name: asks[name]().named(name) for name in names}
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        return {
            name: (query.rejected.table().drop_columns(["epoch"]).to_pylist(), run.progress["queries"][name]["books"])
            for name, query in queries.items()
        }

    together = ask("ab")
    assert {**ask("a"), **ask("b")} == together
    assert [("a", 2, None), ("b", 3, None)] == [(one["k"], one["v"], one["w"]) for one in together["a"][0]]
    assert [(None, None, 8)] == [(one["k"], one["v"], one["w"]) for one in together["b"][0]]
    assert [0, 0] == [books["unaccounted"] for _, books in together.values()]
