"""NEXMark's queries that aggregate, as SQL over streams that are out of order: DuckDB's answers over the whole."""

from __future__ import annotations

import pytest
from auction_house import PACE, House, answer, ask, differences, house, names

import millstream as ms

ROWS = 30_000


@pytest.fixture(scope="module")
def houses() -> dict[float, House]:
    """By the pace that queries are asked at: one of two minutes, and one of days."""
    return {10_000: house(ROWS, rate=250), 0.1: house(ROWS, rate=0.1)}


def test_the_queries_are_those_that_aggregate() -> None:
    assert ["q5", "q7", "q8", "q11", "q12", "q15", "q16", "q17", "q18", "q19"] == names()


@pytest.mark.parametrize("name", names())
def test_a_query_answers_as_duckdb_does_over_the_whole(name: str, houses: dict[float, House]) -> None:
    data = houses[PACE.get(name, 10_000)]
    engine = ms.Engine(host="local")
    query = ask(engine, name, data, epoch_rows=4_000)
    assert engine.check().safe
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    wanted = answer(name, data)
    assert wanted.num_rows > 3
    assert 0 == differences(query.table(), wanted)
    assert 0 == run.progress["queries"][name]["books"]["late"]


def test_auctions_leave_as_they_close(houses: dict[float, House]) -> None:
    left: list[int] = []
    engine = ms.Engine(host="local")
    ask(engine, "q19", houses[10_000], epoch_rows=4_000).for_each(lambda table, _: left.append(table.num_rows))
    engine.start(ms.available_now()).await_termination()

    assert 3 <= sum(rows > 0 for rows in left)
