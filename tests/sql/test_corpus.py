"""Every query of the corpus: the same answer as the fluent API and as the definition."""

from __future__ import annotations

import pytest

import millstream as ms
from sql.corpus import BY_DUCKDB, HIDDEN, JOINS, ROWS, RUN, answer, by_duckdb, make_engine


@pytest.mark.parametrize("name", RUN)
def test_a_query_answers_as_the_fluent_api_and_the_definition(name: str) -> None:
    text, fluent, naive = RUN[name]

    found = answer(make_engine()[0].sql(text))

    assert answer(fluent(make_engine()[1].__getitem__)) == found
    assert naive() == sorted(((wid, *rest) for wid, _, _, *rest in found), key=repr)


@pytest.mark.parametrize("name", HIDDEN)
def test_a_group_that_is_not_selected_still_groups(name: str) -> None:
    text, fluent, hidden, naive = HIDDEN[name]

    found = answer(make_engine()[0].sql(text))

    places = range(3, 3 + len(hidden))
    wide = answer(fluent(make_engine()[1].__getitem__))
    assert sorted((tuple(v for i, v in enumerate(row) if i not in places) for row in wide), key=repr) == found
    assert sorted(((row[0], row[-1]) for row in naive()), key=repr) == [(row[0], row[-1]) for row in found]


def test_q2_1_groups_on_the_progressing_attribute() -> None:
    engine, _ = make_engine()
    query = engine.sql(
        'SELECT srcIP,ts,count(*) FROM Minutes WHERE srcIP="202.101.0.0" or srcIP="202.101.0.1" GROUP BY srcIP,ts'
    )

    counts: dict[tuple[str, int], int] = {}
    for row in ROWS["Main1"]:
        if row["srcIP"].startswith("202"):
            key = (row["srcIP"], row["minute"])
            counts[key] = counts.get(key, 0) + 1
    assert sorted(((*key, n) for key, n in counts.items()), key=repr) == answer(query)
    assert ["srcIP", "ts", "count"] == query.schema.names


def test_q2_1_leaves_before_the_end_of_the_stream() -> None:
    engine, _ = make_engine()
    query = engine.sql("SELECT ts, count(*) AS n FROM Minutes GROUP BY ts", name="q")

    engine.start(ms.available_now()).await_termination()

    assert {row["ts"] for row in query.table().to_pylist()} == set(range(8))


@pytest.mark.parametrize("name", BY_DUCKDB)
def test_a_join_is_safe_and_answers_as_over_whole_tables(name: str) -> None:
    engine, _ = make_engine()
    query = engine.sql(JOINS[name], name="q")

    assert " join on " in engine.explain()
    assert engine.check().safe
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    wanted = by_duckdb(name)
    assert wanted
    columns = query.schema.names[3:] if name == "Q7-2" else query.schema.names  # after the window's own columns
    found = zip(*(query.table()[column].to_pylist() for column in columns), strict=True)
    assert wanted == sorted(found, key=repr)


def test_a_join_with_a_bound_at_one_end_is_refused() -> None:
    engine, _ = make_engine()
    engine.sql(JOINS["by JOIN"], name="q")

    with pytest.raises(ms.ContractError, match="bounded at one end only"):
        engine.start(ms.available_now())
