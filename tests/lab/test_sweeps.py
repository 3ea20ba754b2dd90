"""The sweeps answer as DuckDB does: every slide, and many windows at once."""

from __future__ import annotations

import pyarrow as pa
import pytest
import sweeps


@pytest.fixture(scope="module")
def data() -> pa.Table:
    """Two minutes."""
    return sweeps.stream(20_000)


@pytest.mark.parametrize("slide", sweeps.SLIDES)
def test_every_slide_answers_as_duckdb_does(slide: int, data: pa.Table) -> None:
    found = sweeps.same(sweeps.sliding(data, slide), sweeps.sliding_by_duckdb(data, slide))

    assert found >= 120_000 // slide


@pytest.mark.parametrize("many", [1, 40, 1000])
def test_many_windows_at_once_answer_as_duckdb_does(many: int, data: pa.Table) -> None:
    found = sweeps.with_size(sweeps.at_once(data, many))

    assert sweeps.same(found, sweeps.at_once_by_duckdb(data, many)) > 5 * many


def test_answers_that_differ_stop_the_sweep(data: pa.Table) -> None:
    with pytest.raises(AssertionError, match="the answers differ"):
        sweeps.same(sweeps.sliding(data, 60_000), sweeps.sliding_by_duckdb(data.slice(1), 60_000))


@pytest.mark.parametrize("many", [1, 40])
def test_a_query_for_each_window_answers_as_duckdb_does(many: int, data: pa.Table) -> None:
    found = pa.concat_tables([sweeps.with_size(one) for one in sweeps.apart(data, many)])

    assert sweeps.same(found, sweeps.at_once_by_duckdb(data, many)) > 5 * many


def test_a_wrong_answer_of_a_query_for_each_window_stops_the_sweep(
    data: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = sweeps.apart
    monkeypatch.setattr(sweeps, "WINDOWS", (5,))
    monkeypatch.setattr(sweeps, "apart", lambda data, many: right(data.slice(1), many))

    with pytest.raises(AssertionError, match="the answers differ"):
        sweeps.by_windows(data, rounds=1, most=5)
