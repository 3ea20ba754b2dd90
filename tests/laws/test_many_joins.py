"""Joins of many streams under any order of arrival, cut, join order and number of partitions equal DuckDB's."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import millstream as ms
from millstream.ops.many import join_order
from support import in_process, many


@pytest.fixture
def any_order(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Every stream's rows probe the others in an order that changes at random, from epoch to epoch."""
    rnd = random.Random(5)
    taken: list[tuple[int, ...]] = []

    def choose(spec: join_order.ManySpec, _: join_order.Fans, port: int) -> tuple[int, ...]:
        others = [stream for stream in range(spec.streams) if stream != port]
        rnd.shuffle(others)
        taken.append(tuple(others))
        return tuple(others)

    monkeypatch.setattr(join_order, "choose", choose)
    return taken


@pytest.mark.parametrize("shape", many.SHAPES)
@pytest.mark.parametrize("near", many.NEAR)
@pytest.mark.parametrize("streams", [2, 3, 4, 5, 6])
def test_a_join_of_many_equals_that_of_whole_tables(shape: str, near: str, streams: int) -> None:
    for seed, how in enumerate(("inner", "left")):
        rnd = random.Random(f"{seed} {shape} {near} {streams}")
        many.play(ms.Engine(host="local"), rnd, many.case(rnd, streams, shape, near, how))


@pytest.mark.parametrize("shape", many.SHAPES)
@pytest.mark.parametrize("partitions", [1, 3])
def test_a_join_of_many_by_tasks_equals_it_too(shape: str, partitions: int, tmp_path: Path) -> None:
    for seed, streams in enumerate((3, 4)):
        rnd = random.Random(f"{seed} {shape} {partitions}")
        made = many.case(rnd, streams, shape, many.NEAR[seed % len(many.NEAR)], ("inner", "left")[seed % 2])
        many.play(in_process.engine(tmp_path / str(seed), partitions), rnd, made)


@pytest.mark.parametrize("shape", many.SHAPES)
def test_every_order_of_the_streams_gives_the_same(shape: str, any_order: list[tuple[int, ...]]) -> None:
    """Row 24 of the spec."""
    for streams in (3, 4, 5):
        rnd = random.Random(f"{shape} {streams}")
        many.play(ms.Engine(host="local"), rnd, many.case(rnd, streams, shape, rnd.choice(many.NEAR)))
    assert len(set(any_order)) > 5


@pytest.mark.parametrize("streams", [2, 3, 4])
@pytest.mark.parametrize("tasks", [False, True])
def test_windows_of_rows_hold_the_last_rows_of_every_stream(streams: int, tasks: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter
    for seed in range(4):
        rnd = random.Random(f"{seed} {streams}")
        made = many.case(rnd, streams, rnd.choice(("common", "no key", "chain")), "one length")
        last = {name: rnd.choice([1, 2, 5]) for name in made.names}
        engine = in_process.engine(tmp_path / str(seed), 3) if tasks else ms.Engine(host="local")
        inputs = many.streams(engine, rnd, made)
        query = ms.join(*inputs, on=made.on, rows=last, where=made.where).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()

        assert many.last_rows(made, list(last.values())) == made.got(query.table())
