"""Each statement that would keep rows for ever is refused, with its place and the missing clause; see refusals/.

`REWRITE=1 pytest tests/sql/test_refusals.py` writes the texts anew: then read the difference.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import millstream as ms
from sql.refused import REFUSED

FOLDER = Path(__file__).with_name("refusals")


def engine() -> ms.Engine:
    out = ms.Engine(host="local")
    rows = [{"ts": datetime(2026, 1, 1, tzinfo=UTC), "item": "lamp", "price": 5}]
    out.stream("bids", rows, progress=ms.bounded_disorder("ts", "5 seconds"))
    out.stream("quiet", rows)
    out.stream("spaced", [{"my ts": rows[0]["ts"]}])
    return out


@pytest.mark.parametrize("name", REFUSED)
def test_a_statement_that_would_keep_rows_for_ever_is_refused(name: str) -> None:
    made = engine()
    made.sql(REFUSED[name], name="q")
    path = FOLDER / f"{name.replace(' ', '-')}.txt"

    with pytest.raises(ms.ContractError) as caught:
        made.start(ms.available_now())

    assert not made.host.queries, "something was started"
    assert caught.value.hint
    said = f"{caught.value}\n"
    if os.environ.get("REWRITE"):
        path.write_text(said)
    assert path.read_text() == said


@pytest.mark.parametrize("name", REFUSED)
def test_the_end_of_the_stream_bounds_everything(name: str) -> None:
    made = engine()
    made.sql(REFUSED[name], name="q")

    assert made.check(end_of_stream=True).safe


@pytest.mark.parametrize("name", [name for name in REFUSED if "join" not in name])
def test_what_is_allowed_runs_and_is_marked(name: str) -> None:
    made = engine()
    made.sql(REFUSED[name], name="q")

    made.start(ms.available_now(), allow_unbounded=True).await_termination()

    assert "unbounded: " in made.explain()


def test_every_text_belongs_to_a_statement() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {name.replace(" ", "-") for name in REFUSED}
