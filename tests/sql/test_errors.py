"""Each wrong statement gives one clear error of ours, with its place; the texts are kept in errors/.

`REWRITE=1 pytest tests/sql/test_errors.py` writes them anew: then read the difference.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

import millstream as ms
from sql.wrong import WRONG

FOLDER = Path(__file__).with_name("errors")


def engine() -> ms.Engine:
    out = ms.Engine(host="local")
    rows = [{"ts": datetime(2026, 1, 1, tzinfo=UTC), "item": "lamp", "price": 5}]
    out.stream("bids", rows, progress=ms.bounded_disorder("ts", "5 seconds"))
    out.table("items", [{"item": "lamp", "kind": "light", "least": 3}])
    return out


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_statement_is_told_clearly(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = FOLDER / f"{name.replace(' ', '-')}.txt"

    with pytest.raises(ms.SqlError) as caught:
        engine().sql(WRONG[name])

    said = f"{type(caught.value).__name__}\n{caught.value}\n".replace(str(tmp_path), "/here")
    if os.environ.get("REWRITE"):
        path.write_text(said)
    assert path.read_text() == said
    assert all(len(line) <= 400 for line in said.splitlines())


def test_every_text_belongs_to_a_statement() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {name.replace(" ", "-") for name in WRONG}


def test_there_are_enough_wrong_statements() -> None:
    assert len(WRONG) >= 50


def test_a_mistake_is_not_a_traceback_of_others() -> None:
    with pytest.raises(ms.SqlError) as caught:
        engine().sql("SELECT price FROM bids WHERE price > > ) 3")

    assert caught.value.__cause__ is None or isinstance(caught.value.__cause__, ms.MillstreamError)
