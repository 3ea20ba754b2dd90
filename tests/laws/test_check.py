"""Check against the operators themselves, and its two answers against each other: the verdict and what would do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.core.contract.accordance import reduce
from millstream.core.contract.scheme import Scheme
from millstream.plan import nodes
from millstream.plan.check import check, offered
from millstream.plan.remedy import remedies
from support.harness import SCHEMA, Stepper

pytestmark = pytest.mark.slow

FAR = 10**6
PROMISES: dict[str, tuple[Any, list[Any]]] = {
    # What is declared, and punctuation that keeps that promise for all rows of keys a and b before FAR.
    "for everybody": (ms.supplied("ts"), [ms.punctuation("ts", before=FAR)]),
    "for each key": (ms.supplied("ts", per="k"), [ms.punctuation("ts", before=FAR, k=k) for k in "ab"]),
    "keys end": (ms.supplied(per="k"), [ms.punctuation(k=k) for k in "ab"]),
}
ASKS: dict[str, Any] = {
    "sliding by key": lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy="paned"),
    "by window": lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy="wid"),
    "differential": lambda s: (
        s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy="differential")
    ),
    "buffered": lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy="buffered"),
    "adaptive": lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy="adaptive"),
    "sliding": lambda s: s.window("ts", range=10, slide=5).agg(n=ms.count(), strategy="paned"),
    "sessions": lambda s: s.window("ts", gap=3).group_by("k").agg(n=ms.count()),
    "slide-by-tuple": lambda s: s.window("ts", range=10, per="tuple").group_by("k").agg(n=ms.count()),
    "listed": lambda s: s.window("ts", range=10, per="tuple").group_by("k").agg(m=ms.median("v")),
    "user-defined": lambda s: (
        s.window("ts", extent=lambda w: (w, w + 4), wids=lambda a: [a - 1, a]).group_by("k").agg(n=ms.count())
    ),
    "landmark by key": lambda s: s.window("ts", range="all", slide=10).group_by("k").agg(n=ms.count()),
    "partitions": lambda s: s.window(by="rows", range=3, partition_by="k").agg(n=ms.count()),
    "distinct on the key": lambda s: s.distinct("k"),
    "distinct on key and time": lambda s: s.distinct("k", "ts"),
    "distinct on the value": lambda s: s.distinct("v"),
    "sort": lambda s: s.sort("ts"),
}
rows = st.lists(st.tuples(st.integers(-20, 60), st.sampled_from("ab"), st.integers(0, 3)), min_size=2, max_size=20)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name", ASKS)
@settings(max_examples=max(1, settings().max_examples // 5))  # there are many pairs
@given(given=rows)
def test_an_operator_is_empty_once_all_its_rows_are_covered_iff_check_says_that_it_forgets(
    name: str, promise: str, given: list[tuple[int, str, int]]
) -> None:
    progress, punctuation = PROMISES[promise]
    steps = Stepper(ASKS[name], schema=SCHEMA, progress=progress)
    table = [{"ts": ts, "k": k, "v": v} for ts, k, v in [*given, (1, "a", 1), (2, "b", 1)]]

    steps.step(table[: len(table) // 2])
    steps.step(table[len(table) // 2 :], *punctuation)

    kept = sum(store.rows for store in steps.operator.stores)
    assert check("q", steps.query.node).safe == (kept == 0)


# --- the verdict and the remedies -------------------------------------------------------------------

PROGRESS = (
    None,
    ms.ordered("ts"),
    ms.bounded_disorder("ts", 3),
    ms.per_group("k", ms.ordered("ts")),
    ms.supplied(per="k"),
)


@st.composite
def plans(draw: st.DrawFn) -> nodes.Node:
    """A plan over one or two streams with a few operators; streams may be read twice."""
    engine = ms.Engine(host="local")
    progress = st.sampled_from(PROGRESS)
    streams = [engine.stream(name, [], schema=SCHEMA, progress=draw(progress)) for name in ("a", "b")]
    some: list[ms.Stream] = list(streams)
    for _ in range(draw(st.integers(1, 4))):
        one, other = draw(st.sampled_from(some)), draw(st.sampled_from(some))
        kind = draw(st.sampled_from(["where", "union", "distinct", "window", "sort", "join", "group"]))
        columns = one.schema.names
        if kind == "where":
            some.append(one.where("k = 'a'") if "k" in columns else one)
        elif kind == "union" and columns == other.schema.names:
            some.append(one.union(other))
        elif kind == "distinct":
            some.append(one.distinct(*draw(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True))))
        elif kind == "window" and "ts" in columns:
            groups = draw(st.sampled_from([(), ("k",)])) if "k" in columns else ()
            some.append(one.window("ts", range=10, slide=5).group_by(*groups).agg(v=ms.count()))
        elif kind == "sort" and "ts" in columns:
            some.append(one.sort("ts"))
        elif kind == "join" and {"ts", "k"} <= set(columns) & set(other.schema.names):
            some.append(one.join(other, on="k", within=draw(st.sampled_from([None, 5])), time="ts").select("k"))
        elif kind == "group" and "k" in columns:
            some.append(one.group_by("k").agg(v=ms.count()))
    return some[-1].node


@given(plans())
def test_the_reducer_refuses_exactly_where_an_operator_does(plan: nodes.Node) -> None:
    checked = check("q", plan)

    assert checked.safe == (not checked.refusals)
    assert check("q", plan, ends=True).safe


@given(plans())
def test_every_remedy_makes_the_plan_safe_and_none_could_be_less(plan: nodes.Node) -> None:
    streams = nodes.sources(plan)

    def safe(schemes: dict[str, Scheme]) -> bool:
        return reduce(offered(plan, {id(one): (schemes[one.name],) for one in streams})).consistent

    for remedy in remedies(plan)[:20]:
        schemes = dict(remedy.schemes)
        assert safe(schemes)
        for name, scheme in schemes.items():
            for template in scheme:
                assert not safe({**schemes, name: Scheme(scheme.templates - {template})})
