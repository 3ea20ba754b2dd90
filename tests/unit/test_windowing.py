"""Row windows: the counts of partitions, which number the rows that come."""

from __future__ import annotations

from typing import Any

import millstream as ms
from support.harness import Stepper


def numbered(*, partition_by: str | None = None) -> Stepper:
    """Windows of two rows."""
    return Stepper(lambda s: s.window(range=2, by="rows", partition_by=partition_by or ()).agg(n=ms.count()))


def of(key: str, number: int) -> list[dict[str, Any]]:
    return [{"ts": 1, "k": key, "v": 1, "f": None}] * number


def counts(stepper: Stepper) -> dict[Any, int]:
    found = stepper.operator._totals()
    keys = found.keys["k"].to_pylist() if found.names else [None]
    return dict(zip(keys, found.count.tolist(), strict=True))


def test_each_partition_counts_its_own_rows() -> None:
    stepper = numbered(partition_by="k")

    stepper.step([*of("a", 3), *of("b", 1)])
    left = stepper.step([*of("b", 4), *of("c", 1)])

    assert {"a": 3, "b": 5, "c": 1} == counts(stepper)
    assert [("b", 0), ("b", 1)] == sorted((row["k"], row["window_id"]) for row in left)


def test_a_stream_without_partitions_has_one_count() -> None:
    stepper = numbered()

    stepper.step(of("a", 3))
    left = stepper.step(of("b", 3))

    assert {None: 6} == counts(stepper)
    assert [1, 2] == [row["window_id"] for row in left]


def test_the_count_of_a_partition_that_is_over_is_forgotten() -> None:
    stepper = numbered(partition_by="k")
    stepper.step([*of("a", 3), *of("b", 1)])

    left = stepper.step((), {"k": "a"})

    assert {"b": 1} == counts(stepper)
    assert [("a", 1)] == [(row["k"], row["window_id"]) for row in left]


def test_counts_in_a_checkpoint_of_an_earlier_version_go_on() -> None:
    stepper = numbered(partition_by="k")
    stepper.operator.store.facts["counts"] = {("a",): 7}

    left = stepper.step(of("a", 1))

    assert {"a": 8} == counts(stepper)
    assert {} == stepper.operator.store.facts
    assert [3] == [row["window_id"] for row in left]
