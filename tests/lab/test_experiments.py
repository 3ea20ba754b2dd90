"""Every published experiment runs from the command line, checks its sides against an oracle and gives verdicts."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import experiment_feedback_3 as imputation
from lab import roads
from lab.measure import must_equal
from lab.outcome import Verdict
from lab.registry import ids
from lab.ring_buffer import Server
from lab.roads import readings
from millstream.cli import bench

PUBLISHED = ["6.1", "6.2", "6.3", "6.4", "6.5", "6.6", "7.1", "7.2", "8.1", "8.2", "8.3", "8.4", "8.5"]
FEEDBACK = ["feedback.1", "feedback.2", "feedback.3", "feedback.4", "feedback.5"]
SLICED = ["slices.1", "slices.2", "slices.3", "slices.4"]  # 6.1 to 6.4 of sliced joins
OURS = ["queries.created", "queries.joins", "queries.windows"]  # what we want of many queries
CLAIMED = ["overhead", *OURS, *SLICED, "split"]  # the first and the last in prose, without figures
# What each of them decides, besides what the experiment itself reports.
CLAIMS = {
    "6.1": "H6", "6.2": "H7", "6.3": "H8", "6.4": "H1", "6.5": "H9", "6.6": "H9", "7.1": "H5", "7.2": "H5", "8.1": "H2",
    "feedback.1": "H1", "feedback.2": "H2", "feedback.3": "H4", "feedback.4": "H5", "feedback.5": "H6",
    "8.2": "H3", "8.3": "H4", "8.4": "8.4", "8.5": "H10", "overhead": "overhead", "split": "split",
    "slices.1": "slices 6.1", "slices.2": "slices 6.2", "slices.3": "slices 6.3", "slices.4": "slices 6.4",
    **dict.fromkeys(OURS, "queries"),
}  # fmt: skip


def test_all_published_experiments_are_there() -> None:
    assert [*PUBLISHED, *FEEDBACK, *CLAIMED] == ids()


def test_the_roads_have_as_many_rows_as_published() -> None:
    day, probes, dirty = readings(1440), roads.probes(), imputation.dirty(324_000)

    assert (648_000, 1440) == (day.num_rows, len({ts // 60 for ts in day["ts"].to_pylist()}))
    assert (14_400, 14_400) == (sum(len(one.rows) for one in probes), sum(len(one.punctuations) for one in probes))
    assert 150 == roads.LOCATIONS.num_rows
    assert (324_000, 162_000) == (dirty.num_rows, dirty["speed"].to_pylist().count(-1))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them in one process, which takes half of the time that one for each would."""
    folder = tmp_path_factory.mktemp("lab")
    assert 0 == bench.run("laboratory", ["all", "--scale", "0.02", "--out", str(folder)])
    return folder


@pytest.mark.parametrize("name", [*PUBLISHED, *FEEDBACK, *CLAIMED])
def test_an_experiment_gives_data_a_plot_and_a_verdict(name: str, results: Path) -> None:
    kept = json.loads((results / f"lab-{name}.json").read_text())

    assert kept["rows"]
    assert {len(kept["columns"])} == {len(row) for row in kept["rows"]}
    assert CLAIMS[name] in {verdict["claim"] for verdict in kept["verdicts"]}
    assert all(verdict["found"] and (verdict["agrees"] or verdict["why"]) for verdict in kept["verdicts"])
    for kind, head in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (results / f"lab-{name}.{kind}").read_bytes().startswith(head)


@pytest.mark.parametrize(
    "name", ["6.2", "6.3", "7.1", "8.2", "8.4", "8.5", *FEEDBACK[2:], "slices.1", "slices.3", "slices.4", "split"]
)
def test_what_is_counted_agrees_even_in_a_short_run(name: str, results: Path) -> None:
    # Rows held and stream time do not depend on the machine.
    kept = json.loads((results / f"lab-{name}.json").read_text())

    decided = [verdict for verdict in kept["verdicts"] if verdict["claim"] == CLAIMS[name]]
    assert [] == [verdict for verdict in decided if not verdict["agrees"]]


def test_a_flush_of_our_operator_lets_a_window_go_in_ten_parts(results: Path) -> None:
    kept = json.loads((results / "lab-8.1.json").read_text())

    most = {row[0]: row[-1] for row in kept["rows"] if "our operator" in row[0]}
    assert 12 == len(most)
    for groups in ("66", "130", "260", "520"):
        whole = most[f"{groups} K, our operator, at once"]
        assert most[f"{groups} K, our operator, slow"] <= whole // 8
        assert most[f"{groups} K, our operator, lazy"] <= whole // 7


def test_an_experiment_is_run_by_its_id(tmp_path: Path) -> None:
    assert 0 == bench.run("6.3", ["--scale", "0.02", "--out", str(tmp_path), "--no-plot"])
    assert ["lab-6.3.json"] == [path.name for path in tmp_path.iterdir()]


def test_nothing_is_reported_of_a_wrong_answer() -> None:
    with pytest.raises(AssertionError, match="ours differs from the oracle"):
        must_equal("ours", {1: 2}, {1: 3})


def test_a_disagreement_says_why() -> None:
    with pytest.raises(ValueError, match="H1 does not agree and says not why"):
        Verdict(claim="H1", published="0.3", found="2", agrees=False)


def test_a_scale_that_is_none_is_refused(tmp_path: Path) -> None:
    assert 0 != bench.run("6.2", ["--scale", "0", "--out", str(tmp_path)])


work = st.lists(st.integers(0, 9), min_size=1, max_size=40).map(np.array)


@given(work, st.floats(0.05, 1))
def test_what_waits_is_what_a_clock_would_show(work: np.ndarray, rate: float) -> None:
    server = Server(packet=1.0, partial=0.5, places=0)
    free_at = most = 0.0
    for number, partials in enumerate(work.tolist()):
        free_at = max(free_at, number / rate) + 1.0 + 0.5 * partials
        most = max(most, free_at - (number + 1) / rate)

    assert pytest.approx(max(most, 0) * rate, abs=1e-6) == server.waiting(work, rate)


@given(work, st.integers(1, 20))
def test_the_most_that_is_not_dropped_is_on_the_edge(work: np.ndarray, places: int) -> None:
    server = Server(packet=1.0, partial=0.5, places=places)
    rate = server.most(work)

    assert server.waiting(work, rate) <= places + 1e-6
    assert server.busy(work, rate) <= 1 + 1e-9
    assert server.busy(work, rate) > 0.999 or server.waiting(work, rate * 1.001) > places
