"""As-of joins under any order, cut and number of partitions: the answers of the definition, no sooner than proven."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

import millstream as ms
from millstream.core.progress import Progress
from millstream.ops.as_of import AsOf
from millstream.runtime.batch import Batch
from millstream.runtime.local.epoch import step
from millstream.runtime.local.graph import Graph
from support import in_process
from support.as_of import Question, Row, got
from support.harness import cut, stray
from support.joins import arriving, rows, streams, table

QUESTIONS = [
    Question(keys, how, within, strict)
    for keys, how, within, strict in product([("k",), ("k", "j"), ()], ["inner", "left"], [None, 0, 7], [False, True])
    if not (strict and within == 0)
]


def some(rnd: random.Random) -> tuple[list[Row], list[Row]]:
    left, right = (rows(rnd, rnd.choice([0, 5, 60]), span=rnd.choice([20, 90])) for _ in range(2))
    return left, right


def play(engine: ms.Engine, asked: Question, seed: int) -> None:
    rnd = random.Random(seed)
    left, right = some(rnd)
    a, b = streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
    query = asked.query(a, b).named("q")

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert asked.answer(left, right) == got(query.table())
    books = run.progress["queries"]["q"]["books"]
    assert books["rows_in"] == len(left) + len(right) == sum(books.values()) - books["rows_in"]


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_an_as_of_join_equals_its_definition(asked: Question) -> None:
    for seed in range(5):
        play(ms.Engine(host="local"), asked, seed)


@pytest.mark.parametrize("asked", QUESTIONS[::2], ids=str)
@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_an_as_of_join_by_tasks_equals_it_too(asked: Question, partitions: int, tmp_path: Path) -> None:
    for seed in range(3):
        play(in_process.engine(tmp_path / str(seed), partitions), asked, seed)


@pytest.mark.parametrize("how", ["inner", "left"])
def test_the_definition_is_that_of_duckdb_where_times_differ(how: str) -> None:
    rnd = random.Random(5)
    left, right = rows(rnd, 80, span=200), rows(rnd, 80, span=400)
    right = list({(row["k"], row["ts"]): row for row in right}.values())
    with duckdb.connect() as db:
        db.register("a", table(left))
        db.register("b", table(right, second=True))
        word = "ASOF JOIN" if how == "inner" else "ASOF LEFT JOIN"
        found = db.execute(f"SELECT id, ts, id2, ts2 FROM a {word} b ON a.k = b.k2 AND a.ts >= b.ts2").fetchall()

    assert sorted(Question(how=how).answer(left, right).elements(), key=str) == sorted(found, key=str)


# --- an epoch at a time -----------------------------------------------------------------------------


class Watched:
    """An as-of join whose operator is looked at after every epoch."""

    def __init__(self, asked: Question) -> None:
        engine = ms.Engine(host="local")
        query = asked.query(*streams(engine, [], []))
        self.asked, self.node, self.graph = asked, query.node, Graph()
        self.graph.add(self.node)
        self.seen: tuple[list[Row], list[Row]] = ([], [])

    @property
    def operator(self) -> AsOf:
        operator = self.graph.at(self.node).operator
        assert isinstance(operator, AsOf)
        return operator

    def step(self, side: int, given: Sequence[Row], promises: Sequence[Any]) -> list[Row]:
        """Rows of one side, then what it promises."""
        self.seen[side].extend(given)
        batch = Batch(table(given, second=bool(side)), (), list(promises))
        left = step(self.graph, {"ab"[side]: batch}).rows.get(id(self.node), [])
        return [row for part in left for row in part.to_pylist()]

    def held(self, side: int) -> list[int]:
        segments = [one.tables[("left", "right")[side]] for one in self.operator._held(side)]
        return sorted(number for part in segments for number in part[("id", "id2")[side]].to_pylist())


def bound(progress: Progress, side: int, row: Row) -> int:
    mark = "2" if side else ""
    return progress.bound("ts" + mark, {"k" + mark: row["k"]})


@pytest.mark.parametrize("asked", [one for one in QUESTIONS if one.keys == ("k",)], ids=str)
@pytest.mark.parametrize("group_wise", [False, True])
def test_rows_leave_and_are_forgotten_as_soon_as_is_proven_and_no_promise_is_broken(
    asked: Question, *, group_wise: bool
) -> None:
    for seed in range(4):
        rnd = random.Random(seed)
        watched = Watched(asked)
        for side, given, promises in moments(rnd, group_wise=group_wise):
            before, told = watched.operator.promises(), [one.copy() for one in watched.operator.progress]

            left = watched.step(side, given, promises)

            assert [] == [row for row in left if before.rules_out(row) is not None]
            check_left(watched)
            if told != watched.operator.progress:  # it is punctuation that has rows forgotten
                check_right(watched)


def check_left(watched: Watched) -> None:
    """Just the left rows wait that a later right row could be nearer to."""
    progress, strict = watched.operator.progress[1], watched.asked.strict
    waiting = [
        row["id"]
        for row in watched.seen[0]
        if row["k"] is not None and not row["ts"] < bound(progress, 1, row) + (1 if strict else 0)
    ]
    assert sorted(waiting) == watched.held(0)


def check_right(watched: Watched) -> None:
    """Just the right rows are kept that a left row, waiting or to come, would choose of those seen so far."""
    waiting, needed = set(watched.held(0)), set[int]()
    for key in ("a", "b", "c"):
        right = [row for row in watched.seen[1] if row["k"] == key]
        first = bound(watched.operator.progress[0], 0, {"k": key})
        last = max((row["ts"] for row in right), default=0) + 9
        times = [row["ts"] for row in watched.seen[0] if row["k"] == key and row["id"] in waiting]
        if first < 10**9:
            # However far it has come, one later time stands for all where no right row is.
            times += [*range(max(first, -30), last), max(first, last)]
        chosen = (watched.asked.chooses(at, right) for at in times)
        needed |= {row["id"] for row in chosen if row is not None}
    assert sorted(needed) == watched.held(1)


def moments(rnd: random.Random, *, group_wise: bool) -> list[tuple[int, list[Row], list[Any]]]:
    """Epochs of both sides mixed, each with promises that the rows to come keep."""
    sides: list[list[tuple[int, list[Row], list[Any]]]] = []
    for side in (0, 1):
        given = rows(rnd, 40, span=60)
        epochs = cut(stray(given, rnd.choice([0, 6]), rnd), rnd, 7)
        mark, promised, of_key = "2" if side else "", -100, dict.fromkeys("abc", -100)
        out: list[tuple[int, list[Row], list[Any]]] = []
        for i, some_rows in enumerate(epochs):
            later = [row for epoch in epochs[i + 1 :] for row in epoch]
            promises: list[Any] = []
            best = min((row["ts"] for row in later), default=80)
            if best > promised and rnd.random() < 0.6:
                promised = best
                promises.append(ms.punctuation("ts" + mark, before=best))
            if group_wise and rnd.random() < 0.7:
                key = rnd.choice("abc")
                mine = min((row["ts"] for row in later if row["k"] == key), default=None)
                if mine is None:
                    promises.append(ms.punctuation(**{"k" + mark: key}))
                elif mine > max(promised, of_key[key]):
                    of_key[key] = mine
                    promises.append(ms.punctuation("ts" + mark, before=mine, **{"k" + mark: key}))
            out.append((side, some_rows, promises))
        sides.append(out)
    mixed: list[tuple[int, list[Row], list[Any]]] = []
    while any(sides):
        side = rnd.choice([one for one in sides if one])
        mixed.append(side.pop(0))
    return mixed


# --- contracts --------------------------------------------------------------------------------------

DECLARED = {
    "time": (lambda mark: ms.supplied("ts" + mark)),
    "time of each key": (lambda mark: ms.supplied("ts" + mark, per="k" + mark)),
    "keys": (lambda mark: ms.supplied(per="k" + mark)),
}


def covering(what: str, mark: str) -> list[Any]:
    """Promises of one kind that speak of every row of the keys a, b and c."""
    match what:
        case "time":
            return [ms.punctuation("ts" + mark, before=1000)]
        case "time of each key":
            return [ms.punctuation("ts" + mark, before=1000, **{"k" + mark: key}) for key in "abc"]
        case _:
            return [ms.punctuation(**{"k" + mark: key}) for key in "abc"]


@pytest.mark.parametrize("within", [None, 7])
@pytest.mark.parametrize("right", DECLARED)
@pytest.mark.parametrize("left", DECLARED)
def test_it_forgets_if_its_contract_says_so_and_keeps_what_it_promises(
    left: str, right: str, within: int | None
) -> None:
    asked, rnd = Question(within=within), random.Random(1)
    engine = ms.Engine(host="local")
    a = engine.stream("a", [], schema=table([]).schema, progress=DECLARED[left](""))
    b = engine.stream("b", [], schema=table([], second=True).schema, progress=DECLARED[right]("2"))
    asked.query(a, b).named("q")
    checked = engine.check()["q"].checked
    form = engine._queries["q"].node.form()
    offered = form.offers([one.node.form().offers(())[0].out for one in (a, b)])

    watched = Watched(asked)
    for side in (0, 1):
        watched.step(side, rows(rnd, 40, span=60, keys="abc"), [])
    for side, what in enumerate((left, right)):
        watched.step(side, [], covering(what, "2" if side else ""))

    assert checked.safe is (watched.operator.store.rows == 0) is bool(offered)
    promised = watched.operator.promises()
    row = {"ts": 5, "k": "a", "ts2": 5, "k2": "a"}
    for template in offered[0].out if offered else ():
        assert template.names <= row.keys()
        assert promised.rules_out({name: row[name] for name in template.names}) is not None
