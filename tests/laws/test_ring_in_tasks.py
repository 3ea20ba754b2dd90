"""Joins of many streams without a common key, spread over partitions by blocks of time, equal DuckDB's."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.ops.many import join_order
from millstream.ops.many.keyed_runs import name_of
from support import in_process, many

APART = ("chain", "star", "no key", "chain and condition", "may fail")


def orders_that_change(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, ...]]:
    """All places take the same order in an epoch, and another in the next."""
    taken: set[tuple[int, ...]] = set()

    def choose(spec: join_order.ManySpec, fans: join_order.Fans, port: int) -> tuple[int, ...]:
        others = [stream for stream in range(spec.streams) if stream != port]
        random.Random(f"{sorted(fans.counts.items())} {port}").shuffle(others)
        taken.add(tuple(others))
        return tuple(others)

    monkeypatch.setattr(join_order, "choose", choose)
    return taken


@pytest.mark.parametrize("shape", APART)
@pytest.mark.parametrize("partitions", [2, 5])
def test_a_ring_equals_the_join_of_whole_tables(
    shape: str, partitions: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = orders_that_change(monkeypatch)
    for streams in (2, 3, 4, 5):
        rnd = random.Random(f"{shape} {streams} {partitions}")
        made = many.case(rnd, streams, shape, rnd.choice(many.NEAR))
        many.play(in_process.engine(tmp_path / str(streams), partitions), rnd, made)
    assert len(taken) > 5


def test_a_ring_goes_on_in_another_number_of_partitions(tmp_path: Path) -> None:
    for shape in ("chain", "common", "no key"):
        rnd = random.Random(shape)
        made = many.case(rnd, 3, shape, "pairs")
        feeds = [many.arriving(rnd, rows) for rows in made.rows]
        out, place = tmp_path / f"{shape} out", tmp_path / shape
        ends = (2, 5, 9, None)
        for partitions, end in zip((1, 3, 2, 5), ends, strict=True):
            engine = in_process.engine(place, partitions)
            streams = [
                engine.stream(name, feed if end is None else feed[:end], schema=many.SCHEMA, progress=ms.supplied("ts"))
                for name, feed in zip(made.names, feeds, strict=True)
            ]
            made.query(streams).to_parquet(out, mode="append").named("q")
            engine.start(ms.available_now(), end_of_stream=end is None).await_termination()
        assert made.answer() == made.got(pq.read_table(out))


def test_places_keep_the_same_number_of_rows_each_row_once_and_nothing_else(tmp_path: Path) -> None:
    """At most a tenth more than the mean; and at most a tenth more in all than rows that can still have a partner."""
    engine = in_process.engine(tmp_path, 2)
    schema = pa.schema({"ts": pa.int64(), "v": pa.int64()})
    streams: list[ms.Stream] = []
    for name in "abc":
        epochs = [pa.table({"ts": range(t, t + 100), "v": [7] * 100}, schema=schema) for t in range(0, 5000, 100)]
        streams.append(engine.stream(name, epochs, progress=ms.ordered("ts")))
    ms.join(*streams, within=1600, where="a_v > b_v AND b_v > c_v").named("q")
    engine.start(ms.available_now()).await_termination()

    kept: dict[int, int] = {}
    for segment in engine.host.ledger.segments:
        for stream in range(3):
            if name_of(stream) in segment.tables:
                kept[segment.partition] = kept.get(segment.partition, 0) + segment.tables[name_of(stream)].rows
    needed = 3 * 1600
    assert {0, 1} == kept.keys()
    assert max(kept.values()) <= 1.1 * sum(kept.values()) / 2
    assert needed <= sum(kept.values()) <= 1.1 * needed
    names = {name for one in engine.host.ledger.segments for name in one.tables}
    assert {"stream_0", "stream_1", "stream_2"} == names


def test_a_burst_is_spread_over_all_places_and_stays_exact(tmp_path: Path) -> None:
    """Row 30: blocks become narrower when more rows come a tick, and wider again."""
    calm = [list(range(t, t + 100, 5)) for t in range(0, 1000, 100)]
    burst = [[1000 + t + i // 34 for i in range(200)] for t in (0, 6, 12)]
    epochs = [
        pa.table({"ts": pa.array(ts, pa.int64()), "v": [i % 50 for i in range(len(ts))]}) for ts in [*calm, *burst]
    ]
    engine = in_process.engine(tmp_path, 2)
    streams = [engine.stream(name, epochs, progress=ms.ordered("ts")) for name in "abc"]
    query = ms.join(*streams, within=640, where="a_v = b_v + 1 AND b_v = c_v + 1 AND a_ts = c_ts").named("q")
    engine.start(ms.available_now()).await_termination()

    kept: dict[int, int] = {}
    for segment in engine.host.ledger.segments:
        written = next(iter(segment.tables.values()))
        kept[segment.partition] = kept.get(segment.partition, 0) + written.rows
    assert max(kept.values()) <= 1.4 * sum(kept.values()) / 2  # one block of 20 ticks would hold nearly all of them
    rows = [(ts, v) for one in epochs for ts, v in zip(one["ts"].to_pylist(), one["v"].to_pylist(), strict=True)]
    by_value: dict[int, list[int]] = {}
    for ts, v in rows:
        by_value.setdefault(v, []).append(ts)
    expected = sum(
        1
        for v in range(48)
        for a in by_value.get(v + 2, [])
        for b in by_value.get(v + 1, [])
        for c in by_value.get(v, [])
        if a == c and abs(a - b) <= 640
    )
    assert expected == query.table().num_rows
