"""Any text at all is a query, or an error of ours: never a traceback of somebody else's."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from sql.auction import engine
from sql.wrong import WRONG

RIGHT = [
    "SELECT item, count(*)[RANGE 2 minutes, SLIDE 1 minute, WATTR ts] AS n FROM bids GROUP BY item HAVING n > 3",
    "WITH a AS (SELECT ts, item FROM bids) SELECT b.item, max(b.ts) FROM a AS b [RANGE 1 min, WA ts] GROUP BY 1",
    "SELECT window.start, count(DISTINCT item) FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS "
    "GROUP BY window(ts, '1 hour')",
    "SELECT count(*) FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES)) LIMIT 3",
    "SELECT a.item FROM (SELECT * FROM bids) a UNION ALL SELECT CASE WHEN price > 1 THEN 'x' END AS y FROM bids",
    "CREATE STREAM s FROM rate OPTIONS (rows 3) PROGRESS ON timestamp WITHIN 5 seconds PER value",
    "INSERT INTO memory 'm' SELECT ts, price - 1 AS p FROM bids WHERE item IN ('a', \"b\") ORDER BY ts",
]
PIECES = sorted({piece for text in [*RIGHT, *(w for w in WRONG.values() if len(w) < 300)] for piece in
                 re.findall(r"\w+|\s+|[^\w\s]", text)})  # fmt: skip


def spoilt(seed: int) -> str:
    """A right statement with some of its words lost, doubled, moved or replaced."""
    rnd = random.Random(seed)
    words = re.findall(r"\w+|\s+|[^\w\s]", rnd.choice(RIGHT))
    for _ in range(rnd.randint(1, 3)):
        at = rnd.randrange(len(words))
        match rnd.randrange(4):
            case 0:
                del words[at : at + rnd.randint(1, 3)]
            case 1:
                words.insert(at, rnd.choice(PIECES))
            case 2:
                words[at] = rnd.choice(PIECES)
            case _:
                words.insert(rnd.randrange(len(words)), words.pop(at))
        words = words or ["SELECT"]
    return "".join(words)


def try_it(text: str) -> None:
    asked, _ = engine()
    try:
        asked.sql(text)
    except ms.MillstreamError as error:
        assert str(error)  # noqa: PT017 - whichever it is, it says something


@pytest.mark.parametrize("text", RIGHT)
def test_what_is_spoilt_was_right(text: str) -> None:
    assert engine()[0].sql(text).schema.names


@given(st.integers(0, 2**32))
def test_a_spoilt_statement(seed: int) -> None:
    try_it(spoilt(seed))


@given(st.text(max_size=80))
def test_any_text(text: str) -> None:
    try_it(text)


@given(st.lists(st.sampled_from(PIECES), max_size=25))
def test_words_in_any_order(words: list[str]) -> None:
    try_it("SELECT " + " ".join(words))
