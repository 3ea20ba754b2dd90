"""Joins that share a store answer as each does alone: results, late and rejected rows, and books."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.ops.join.route_pairs import satisfying
from millstream.ops.join.shared import SharedJoin
from millstream.plan import nodes
from support import in_process
from support.bags import difference
from support.costly import costly
from support.join_sets import KEYS, SETS, Asked, streams_of
from support.joins import streams

Rows = list[dict[str, Any]]


def engine_on(partitions: int, folder: str) -> ms.Engine:
    return in_process.engine(Path(folder), partitions) if partitions else ms.Engine(host="local")


def answers(
    asked: list[Asked], keys: list[tuple[str, str]], seed: int, partitions: int, names: list[str]
) -> dict[str, tuple[Rows, Rows, dict[str, int]]]:
    """By query: its results, what it rejected, and its books."""
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_on(partitions, folder)
        a, b = streams(engine, *streams_of(seed))
        made = {name: one.over(a, b, keys).named(name) for name, one in zip(names, asked, strict=True)}
        for query in made.values():
            query.rejected.to_memory()
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        told = run.progress["queries"]
        return {
            name: (
                query.table().to_pylist(),
                [{k: v for k, v in row.items() if k != "epoch"} for row in query.rejected.table().to_pylist()],
                told[name]["books"],
            )
            for name, query in made.items()
        }


@pytest.mark.parametrize("partitions", [0, 1, 3])
@costly
@given(asked=SETS, keys=KEYS, seed=st.integers(0, 2**32))
def test_joins_that_share_answer_as_each_alone(
    partitions: int, asked: list[Asked], keys: list[tuple[str, str]], seed: int
) -> None:
    names = [f"q{i}" for i in range(len(asked))]
    together = answers(asked, keys, seed, partitions, names)
    for name, one in zip(names, asked, strict=True):
        alone = answers([one], keys, seed, partitions, [name])[name]
        assert {} == difference(alone[0], together[name][0])
        assert {} == difference(alone[1], together[name][1])
        assert alone[2] == together[name][2]


@pytest.mark.parametrize("partitions", [1, 3])
@costly
@given(asked=SETS, keys=KEYS, seed=st.integers(0, 2**32), cut=st.integers(1, 6), gone=st.booleans())
def test_what_is_shared_is_found_again_after_a_restart(
    *, partitions: int, asked: list[Asked], keys: list[tuple[str, str]], seed: int, cut: int, gone: bool
) -> None:
    """The first join may be gone in the second life: the others go on."""
    names = [f"q{i}" for i in range(len(asked))]
    left, right = streams_of(seed)
    with tempfile.TemporaryDirectory() as folder:
        for life, (first, second) in enumerate(((left[:cut], right[:cut]), (left, right))):
            engine = engine_on(partitions, f"{folder}/checkpoint")
            a, b = streams(engine, first, second)
            for name, one in zip(names, asked, strict=True):
                if not (life and gone and name == names[0]):
                    one.over(a, b, keys).named(name).to_json(f"{folder}/{name}")
            engine.start(ms.available_now(), end_of_stream=bool(life)).await_termination()
        for name, one in list(zip(names, asked, strict=True))[int(gone) :]:
            alone = answers([one], keys, seed, partitions, [name])[name]
            assert {} == difference(alone[0], read_json(f"{folder}/{name}", alone[0]))


def read_json(folder: str, like: Rows) -> Rows:
    found = [json.loads(line) for file in sorted(Path(folder).glob("part-*")) for line in file.read_text().splitlines()]
    return [{name: row.get(name) for name in like[0]} for row in found] if like else found


@given(asked=SETS, seed=st.integers(0, 2**32), drop=st.integers(0, 5))
def test_a_join_that_goes_while_it_runs_leaves_the_others_alone(asked: list[Asked], seed: int, drop: int) -> None:
    names = [f"q{i}" for i in range(len(asked))]
    keys = [("k", "k2")]
    left, right = streams_of(seed)
    engine = ms.Engine(host="local")
    a, b = streams(engine, left, right)
    made = {name: one.over(a, b, keys).named(name) for name, one in zip(names, asked, strict=True)}
    engine.start(ms.once()).await_termination()
    engine.drop(names[drop % len(names)])
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    for i, (name, one) in enumerate(zip(names, asked, strict=True)):
        if i != drop % len(names):
            alone = answers([one], keys, seed, 0, [name])[name]
            assert {} == difference(alone[0], made[name].table().to_pylist())


@given(seed=st.integers(0, 2**32), bands=st.lists(st.integers(0, 9), min_size=2, max_size=5, unique=True))
def test_joins_of_a_stream_with_itself_share(seed: int, bands: list[int]) -> None:
    left, right = streams_of(seed)

    def pairs(wanted: list[int]) -> dict[int, Counter[Any]]:
        engine = ms.Engine(host="local")
        streams(engine, left, right)
        text = "SELECT x.id AS one, y.id AS other FROM a x JOIN a y ON x.k = y.k AND y.ts BETWEEN x.ts AND x.ts + {}"
        made = {band: engine.sql(text.format(band), name=f"q{band}") for band in wanted}
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        kinds = Counter(type(vertex.node) for vertex in engine.host.graph.vertices.values())
        assert (len(wanted) > 1) == kinds[nodes.SharedJoin]
        return {band: Counter(map(str, query.table().to_pylist())) for band, query in made.items()}

    assert {band: pairs([band])[band] for band in bands} == pairs(bands)


@given(asked=SETS, seed=st.integers(0, 2**32))
def test_no_row_stays_beyond_the_last_slice_that_a_join_which_asks_for_it_reads(asked: list[Asked], seed: int) -> None:
    """Row 16 of the checklist on the engine's own store: a row may overstay by one of its slices, no more."""
    left, right = streams_of(seed)
    engine = ms.Engine(host="local")
    a, b = streams(engine, left, right)
    for i, one in enumerate(asked):
        one.over(a, b, [("k", "k2")]).named(f"q{i}").discard()
    for _ in range(max(len(left), len(right))):
        engine.start(ms.once()).await_termination()
        for vertex in engine.host.graph.vertices.values():
            if isinstance(store := vertex.operator, SharedJoin):
                for side, name in enumerate(("left", "right")):
                    for segment in (one for one in store.store.segments if name in one.tables):
                        check_lineage(store, side, segment.tables[name])


def check_lineage(store: SharedJoin, side: int, rows: pa.Table) -> None:
    """Each row satisfies the condition of a join whose partners may still come, or could until a slice ago."""
    at = rows[("ts", "ts2")[side]].to_numpy()
    bound = store.progress[1 - side].bound(("ts", "ts2")[1 - side])
    waited = np.zeros(len(at), dtype=np.bool_)
    for reading in store.spec.readings:
        assert reading.spec.near is not None
        mine = at + store.spec.slices.base >= reading.spec.near.complete(side, bound)
        held = satisfying(rows, reading.predicates[side])
        waited |= mine if held is None else mine & held
    assert waited.all()
