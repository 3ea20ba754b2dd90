"""Progress only grows, promises no more than its punctuations did, and every generator keeps its word."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.domain import BOTTOM, END, Domain, Kind
from millstream.core.errors import PunctuationError
from millstream.core.generator import BoundedRows, Seen, Timer
from millstream.core.progress import Progress, meet
from millstream.core.punctuation import Punctuation, describe
from millstream.ops.ingest import Ingest, observe
from millstream.runtime.batch import Batch
from millstream.runtime.local.epoch import step
from millstream.runtime.local.graph import Graph
from support.harness import SCHEMA, cut, punctuated, run, some_rows, stray
from support.oracle import Row

INTEGER = Domain(kind=Kind.INTEGER)
bounds = st.integers(0, 4)
keys = st.sampled_from(["a", "b"])
shared = st.one_of(
    bounds.map(lambda v: Punctuation.linear("ts", v)),
    st.builds(lambda v, k: Punctuation.group_wise("ts", v, {"k": k}), bounds, keys),
)
punctuations = st.one_of(
    shared,
    bounds.map(lambda v: Punctuation.linear("other", v)),
    keys.map(lambda k: Punctuation.over({"k": k})),
    st.builds(lambda a, b: Punctuation.joint({"ts": a, "other": b}), bounds, bounds),
    st.just(Punctuation.end_of_stream()),
)
some = st.lists(punctuations, max_size=6)
ROWS = [{"ts": ts, "k": k, "other": o} for ts, k, o in product((None, *range(-1, 6)), (None, "a", "b", "c"), (1, 4))]


def learned(given: list[Punctuation]) -> Progress:
    progress = Progress()
    for one in given:
        progress.accept(one)
    return progress


def ruled_out(progress: Progress) -> list[int]:
    return [i for i, row in enumerate(ROWS) if progress.rules_out(row) is not None]


# --- folding punctuations ---------------------------------------------------------------------------


@given(some)
def test_progress_rules_out_exactly_what_its_punctuations_rule_out(given: list[Punctuation]) -> None:
    expected = [i for i, row in enumerate(ROWS) if any(one.rules_out(row) for one in given)]

    assert expected == ruled_out(learned(given))


@given(some)
def test_progress_written_as_punctuations_is_the_same_progress(given: list[Punctuation]) -> None:
    progress = learned(given)

    assert ruled_out(progress) == ruled_out(learned(list(progress.punctuations())))


@given(some, punctuations)
def test_accepting_never_lowers_a_bound(given: list[Punctuation], one: Punctuation) -> None:
    progress = learned(given)
    asked = [(name, group) for name in ("ts", "other") for group in (None, {"k": "a"}, {"k": "b"}, {"k": "c"})]
    before = [progress.bound(name, group) for name, group in asked]
    progress.accept(one)

    assert all(old <= progress.bound(name, group) for old, (name, group) in zip(before, asked, strict=True))


@given(some, punctuations)
def test_what_is_not_accepted_says_nothing_new(given: list[Punctuation], one: Punctuation) -> None:
    progress = learned(given)
    before = ruled_out(progress)

    assert progress.accept(one) or before == ruled_out(progress)


@given(some, punctuations)
def test_the_same_punctuation_is_accepted_once(given: list[Punctuation], one: Punctuation) -> None:
    progress = learned([*given, one])

    assert not progress.accept(one)


@given(some, punctuations)
def test_a_copy_does_not_follow_the_original(given: list[Punctuation], one: Punctuation) -> None:
    progress = learned(given)
    copy, before = progress.copy(), ruled_out(progress)
    progress.accept(one)

    assert before == ruled_out(copy)


@given(bounds, bounds)
def test_a_bound_that_falls_is_refused_and_one_that_stays_is_not(first: int, second: int) -> None:
    progress = learned([Punctuation.linear("ts", first)])
    later = Punctuation.linear("ts", second)
    if second >= first:
        progress.check_forward(later)
        return
    with pytest.raises(PunctuationError, match=f"ts < {second}.* goes backwards: .*ts < {first}"):
        progress.check_forward(later)


# --- the union of inputs ----------------------------------------------------------------------------


@given(st.lists(some, min_size=1, max_size=3))
def test_a_union_promises_nothing_that_an_input_does_not(inputs: list[list[Punctuation]]) -> None:
    parts = [learned(given) for given in inputs]
    every = set.intersection(*(set(ruled_out(part)) for part in parts))

    assert set(ruled_out(meet(parts))) <= every


@given(st.lists(st.lists(shared, max_size=6), min_size=1, max_size=3))
def test_a_union_promises_all_that_every_input_promises_of_one_attribute(inputs: list[list[Punctuation]]) -> None:
    parts = [learned(given) for given in inputs]
    every = set.intersection(*(set(ruled_out(part)) for part in parts))

    assert every == set(ruled_out(meet(parts)))


@given(st.lists(some, min_size=1, max_size=3), st.lists(some, min_size=1, max_size=3))
def test_a_union_only_grows(first: list[list[Punctuation]], more: list[list[Punctuation]]) -> None:
    parts = [learned(given) for given in first]
    before = set(ruled_out(meet(parts)))
    for part, given_later in zip(parts, more, strict=False):
        for one in given_later:
            part.accept(one)

    assert before <= set(ruled_out(meet(parts)))


def test_a_union_has_ended_only_when_every_input_has() -> None:
    over, open_ = learned([Punctuation.end_of_stream()]), learned([Punctuation.linear("ts", 4)])

    assert (END, 4) == (meet([over, over]).bound("ts"), meet([over, open_]).bound("ts"))


def test_meld_passes_on_one_punctuation_for_three_that_do_not_raise_the_minimum() -> None:
    # R stands at 20, S at 19; S sends 20, 21, 22: only 20 is news.
    engine = ms.Engine(host="local")
    schema = pa.schema([("ts", pa.int64())])
    streams = [engine.stream(name, [], schema=schema, progress=ms.supplied("ts")) for name in "RS"]
    union = streams[0].union(streams[1])
    graph = Graph()
    graph.add(union.node)
    told: list[int] = []
    for name, bound in (("R", 20), ("S", 19), ("S", 20), ("S", 21), ("S", 22)):
        step(graph, {name: Batch(schema.empty_table(), (), [{"ts": bound}])})
        told.append(graph.at(union.node).told.bound("ts"))

    assert [BOTTOM, 19, 20, 20, 20] == told
    assert 0 == graph.at(union.node).operator.store.rows


# --- generators -------------------------------------------------------------------------------------


def low_water_marks(epochs: list[list[Row]]) -> list[int]:
    """After each epoch, the least value still to come."""
    return [min((r["ts"] for e in epochs[i + 1 :] for r in e), default=END) for i in range(len(epochs))]


def drive(generator: Any, epochs: list[list[Row]], clocks: list[int] | None = None) -> tuple[list[Progress], Ingest]:
    """The progress after each epoch of a stream that enters with this generator."""
    ingest = Ingest(generator.bind(INTEGER), {"ts": INTEGER})
    out: list[Progress] = []
    for i, rows in enumerate(epochs):
        ingest.take(0, pa.Table.from_pylist(rows, schema=SCHEMA))
        progress = ingest.learn((), None if clocks is None else clocks[i])
        ingest.advance(0, progress)
        out.append(progress)
    return out, ingest


def locally_shuffled(rnd: random.Random) -> list[Row]:
    rows = some_rows(rnd, 40, 60)
    order = sorted(range(len(rows)), key=lambda i: i + rnd.randint(0, rnd.choice([0, 3, 8])))
    return [rows[i] for i in order]


def farthest_overtaken(rows: list[Row]) -> int:
    """By how many positions the most delayed row is delayed."""
    values = [row["ts"] for row in rows]
    return max((j - i for j in range(len(values)) for i in range(j) if values[i] > values[j]), default=0)


def ordered_stream(rnd: random.Random) -> list[Row]:
    return some_rows(rnd, 40, 60)


GENERATORS: dict[str, tuple[Callable[[random.Random], list[Row]], Callable[[list[Row]], Any]]] = {
    "ordered": (ordered_stream, lambda _: ms.ordered("ts")),
    "step": (ordered_stream, lambda _: ms.step("ts", 7)),
    "disorder in time": (lambda rnd: stray(some_rows(rnd, 40, 60), 9, rnd), lambda _: ms.bounded_disorder("ts", 9)),
    "disorder in rows": (locally_shuffled, lambda rows: ms.bounded_disorder("ts", rows=farthest_overtaken(rows))),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_stays_below_the_low_water_mark_on_the_disorder_it_assumes(name: str) -> None:
    make_rows, make = GENERATORS[name]
    for seed in range(60):
        rnd = random.Random(seed)
        rows = make_rows(rnd)
        epochs = cut(rows, rnd, most=7)
        seen, ingest = drive(make(rows), epochs)
        marks = low_water_marks(epochs)

        assert all(one.bound("ts") <= mark for one, mark in zip(seen, marks, strict=True)), f"seed {seed}"
        assert [] == ingest.late, f"seed {seed}"


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_reaches_any_value_in_the_end(name: str) -> None:
    make_rows, make = GENERATORS[name]
    for goal in (100, 12_345):
        rnd = random.Random(goal)
        rows = make_rows(rnd)
        later = [{"ts": goal + 7 * i, "k": "a", "v": 1, "f": None} for i in range(20)]
        seen, _ = drive(make(rows), [rows, *([row] for row in later)])

        assert seen[-1].bound("ts") > goal


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_ends_at_the_same_bound_however_the_stream_is_cut(name: str) -> None:
    make_rows, make = GENERATORS[name]
    for seed in range(20):
        rnd = random.Random(seed)
        rows = make_rows(rnd)
        if name == "step":  # punctuates where an epoch ends, so that is where the bounds may differ
            rows = [{**row, "ts": 7 * (row["ts"] // 7)} for row in rows]
        whole, pieces = (drive(make(rows), epochs)[0][-1] for epochs in ([rows], cut(rows, rnd, most=5)))

        assert whole.bound("ts") == pieces.bound("ts"), f"seed {seed}"


def arrivals(rnd: random.Random, lull: int) -> Iterator[tuple[int, list[Row]]]:
    """Ordered rows that reach us at most `lull` after their time, and the clock of each epoch."""
    arrived, rows = 0, []
    for row in some_rows(rnd, 30, 120, low=0):
        arrived = max(arrived, row["ts"] + rnd.randint(0, lull))
        rows.append((arrived, row))
    now = 0
    while rows:
        now += rnd.randint(1, 12)
        yield now, [row for at, row in rows if at <= now]
        rows = [one for one in rows if one[0] > now]


def test_a_timer_with_a_lull_is_grammatical_when_rows_come_within_the_lull() -> None:
    for seed in range(60):
        clocks, epochs = zip(*arrivals(random.Random(seed), lull=9), strict=True)
        seen, ingest = drive(ms.timer("ts", 5, lull=9, clock=lambda: 0), list(epochs), list(clocks))

        marks = low_water_marks(list(epochs))
        assert all(one.bound("ts") <= mark for one, mark in zip(seen, marks, strict=True)), f"seed {seed}"
        assert [] == ingest.late, f"seed {seed}"


def test_a_timer_reaches_any_value_in_a_lull_without_a_row() -> None:
    seen, _ = drive(ms.timer("ts", 5, lull=9, clock=lambda: 0), [[], []], [10, 1_000_009])

    assert [1, 1_000_000] == [one.bound("ts") for one in seen]


def test_a_timer_fires_no_more_often_than_it_was_told() -> None:
    rows = [[{"ts": ts, "k": "a", "v": 1, "f": None}] for ts in range(6)]
    seen, _ = drive(ms.timer("ts", 2, clock=lambda: 0), rows, [0, 1, 2, 3, 4, 5])

    assert [0, 0, 2, 2, 4, 4] == [one.bound("ts") for one in seen]


def test_two_rows_of_disorder_leave_the_greatest_of_all_but_the_last_two() -> None:
    # §1: n = 2, arrivals 1, 4, 3, 6, 5 → 4.
    table = pa.table({"ts": [1, 4, 3, 6, 5]})
    generator = BoundedRows("ts", 2)
    _, promises = generator.step({}, observe(generator, table), None)

    assert ["ts < 4"] == list(map(str, promises))


def test_in_a_lull_of_five_the_clock_less_five_is_the_bound() -> None:
    # §1: s = 5, data 100: clock 103 → 100; clock 110 → 105.
    timer = Timer("ts", 1, 5, clock=lambda: 0)
    state, first = timer.step({}, Seen(rows=1, high=100), 103)
    _, second = timer.step(state, Seen(), 110)

    assert (["ts < 100"], ["ts < 105"]) == (list(map(str, first)), list(map(str, second)))


@pytest.mark.parametrize("name", ["ordered", "disorder in time", "disorder in rows"])
def test_each_group_has_the_bound_of_its_own_disorder(name: str) -> None:
    make_rows, make = GENERATORS[name]
    for seed in range(30):
        rnd = random.Random(seed)
        # Each group strays by itself; how they are dealt together is anybody's guess.
        hands = {
            key: [{**row, "k": key, "ts": row["ts"] + shift} for row in make_rows(rnd)]
            for key, shift in (("a", 0), ("b", 500), (None, 0))
        }
        inner = make(max(hands.values(), key=farthest_overtaken))
        deal = [key for key, hand in hands.items() for _ in hand]
        rnd.shuffle(deal)
        left = {key: iter(hand) for key, hand in hands.items()}
        epochs = cut([next(left[key]) for key in deal], rnd, most=9)
        seen, ingest = drive(ms.per_group("k", inner), epochs)

        assert [] == ingest.late, f"seed {seed}"
        for key in ("a", "b"):
            mine = low_water_marks([[row for row in epoch if row["k"] == key] for epoch in epochs])
            found = [one.bound("ts", {"k": key}) for one in seen]
            assert all(bound <= mark for bound, mark in zip(found, mine, strict=True)), f"seed {seed}"
            assert found[-1] > BOTTOM, f"seed {seed}"
        assert BOTTOM == seen[-1].bound("ts", {"k": None}), "a null key can be named by no punctuation"
        assert len(hands[None]) == ingest.meter.rejected, "so such a row cannot be used"


def promises(epoch: ms.Epoch) -> list[Any]:
    return list(epoch.punctuations)


def marked(epochs: list[ms.Epoch], *, as_text: bool) -> list[pa.Table]:
    """The same stream with its punctuation as rows, told by a column `mark`."""
    schema = SCHEMA.append(pa.field("mark", pa.string() if as_text else pa.bool_()))
    out: list[pa.Table] = []
    for epoch in epochs:
        rows = epoch.rows.to_pylist()
        for one in promises(epoch):
            parts = one.pattern.attributes
            row = {name: getattr(part, "bound", getattr(part, "value", None)) for name, part in parts.items()}
            rows.append({"mark": str(one.pattern)} if as_text else {**row, "mark": True})
        out.append(pa.Table.from_pylist(rows, schema=schema))
    return out


FORMS: dict[str, tuple[Any, Callable[[list[ms.Epoch]], list[Any]], pa.Schema]] = {
    "supplied": (ms.supplied("ts"), list, SCHEMA),
    "embedded boolean": (
        ms.embedded("mark", "ts"),
        lambda epochs: marked(epochs, as_text=False),
        SCHEMA.append(pa.field("mark", pa.bool_())),
    ),
    "embedded text": (
        ms.embedded("mark"),
        lambda epochs: marked(epochs, as_text=True),
        SCHEMA.append(pa.field("mark", pa.string())),
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_punctuation_from_outside_arrives_as_it_was_given(form: str) -> None:
    progress, dress, schema = FORMS[form]
    for seed in range(15):
        rnd = random.Random(seed)
        epochs = punctuated(cut(stray(some_rows(rnd, 40, 60), 30, rnd), rnd), rnd, group_wise=True)
        ran = run(iter(dress(epochs)), lambda s: s.where("true"), progress=progress, schema=schema, end=False)
        given = [Punctuation(one.pattern) for epoch in epochs for one in promises(epoch)]
        seen = ran.source.progress[0]

        assert 0 == ran.query.late.table().num_rows, f"seed {seed}"
        assert 0 == ran.query.rejected.table().num_rows, f"seed {seed}"
        assert learned(given) == seen, f"seed {seed}"


MARKED = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("mark", pa.bool_())])


@pytest.mark.parametrize(
    ("marks", "bound", "rejected"),
    [
        ([3, 3, 5, 9], 9, 0),
        ([3, 7, 5, 9], 9, 1),
        ([3, 5, 2**63 - 1], 5, 1),
        ([2], 2, 0),
    ],
    ids=["rising", "one goes backwards", "one is beyond all values", "alone"],
)
def test_of_many_marks_in_an_epoch_those_that_can_be_kept_count(marks: list[int], bound: int, rejected: int) -> None:
    rows = [{"ts": 20, "k": "a", "mark": None}, *({"ts": one, "k": None, "mark": True} for one in marks)]
    table = pa.Table.from_pylist(rows, schema=MARKED)
    ran = run([table], lambda s: s.where("true"), progress=ms.embedded("mark", "ts"), schema=MARKED, end=False)

    assert bound == ran.source.progress[0].bound("ts")
    assert rejected == ran.query.rejected.table().num_rows
    assert [20] == ran.query.table()["ts"].to_pylist()


# --- describe ---------------------------------------------------------------------------------------


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-5, 5), st.integers(1, 9))
def test_describe_keeps_what_a_consumer_of_that_step_can_use(a: int, b: int, start: int, size: int) -> None:
    low, high = (describe(bound, start=start, step=size) for bound in sorted((a, b)))

    assert low <= high
    assert high <= max(a, b) < high + size
    assert 0 == (high - start) % size


@pytest.mark.parametrize("strategy", ["wid", "paned", "differential", "buffered", "adaptive"])
def test_a_slide_of_five_seconds_lets_one_punctuation_through_each_five_seconds(strategy: str) -> None:
    # A row and a punctuation each second for a minute: bounds 0 to 59 s, so 5, 10 … 55 are of use.
    schema = pa.schema([("ts", pa.timestamp("ms"))])
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [], schema=schema, progress=ms.ordered("ts"))
    query = stream.window("ts", range="10 seconds", slide="5 seconds").agg(n=ms.count(), strategy=strategy)
    graph = Graph()
    graph.add(query.node)
    told: list[int] = []
    for second in range(60):
        step(graph, {"s": Batch(pa.table({"ts": pa.array([1000 * second], schema.field("ts").type)}))})
        told.append(graph.at(query.node).told.bound("window_end"))

    assert 11 == graph.at(query.node).operator.meter.punctuations
    assert [5000 * (second // 5 + 1) for second in range(60)] == told


def test_a_value_that_comes_again_is_no_new_punctuation() -> None:
    ran = run(
        [{"ts": ts, "k": "a", "v": 1, "f": None} for ts in (1, 1, 1, 2, 2)],
        lambda s: s.where("true"),
        progress=ms.ordered("ts"),
        epoch_rows=1,
    )

    assert 2 == ran.source.meter.punctuations
