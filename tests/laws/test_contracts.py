"""Contracts: the reducer finds what trying every choice finds, on trees and on graphs; forms promise what holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from millstream.core.contract import form
from millstream.core.contract.accordance import ContractPlan, accordances, reduce
from millstream.core.contract.contract import Contract, agree
from millstream.core.contract.feedback import ANY, NONE, Feedback, covered, well_formed
from millstream.core.contract.join_form import Join
from millstream.core.contract.scheme import Scheme, breaches, obeys, ungrammatical
from millstream.core.contract.template import END, Sign, Template
from millstream.core.pattern import Equal, Pattern, UpTo
from millstream.core.punctuation import Punctuation

SCHEMES = [Scheme.of("a+"), Scheme.of("a#"), Scheme.of("a+", "a#")]
FEEDBACK: list[Feedback] = [NONE, ANY, Scheme.of("a+")]


# --- the reducer ------------------------------------------------------------------------------------


@st.composite
def plans(draw: st.DrawFn, *, graphs: bool) -> ContractPlan:
    """A plan of at most 6 operators with at most 3 contracts each; later operators read earlier ones."""
    n = draw(st.integers(1, 6))
    reads: dict[Hashable, tuple[Hashable, ...]] = {}
    free: list[int] = []
    for name in range(n):
        last = name == n - 1
        if graphs:
            below = draw(st.lists(st.integers(0, name - 1), max_size=2)) if name else []
            if name and not last and draw(st.booleans()):
                below = []
            if last:  # whoever is not read yet is read by the root
                read = {one for some in reads.values() for one in some}
                below = [*below, *(one for one in range(name) if one not in read and one not in below)]
        else:
            take = len(free) if last else draw(st.integers(0, min(2, len(free))))
            below, free = free[:take], free[take:]
            free.append(name)
        reads[name] = tuple(below)
    schemes, feedback = st.sampled_from(SCHEMES), st.sampled_from(FEEDBACK)
    offerings = {
        name: tuple(
            draw(
                st.lists(
                    st.builds(
                        Contract,
                        st.tuples(*(schemes for _ in below)),
                        schemes,
                        feedback,
                        st.tuples(*(feedback for _ in below)),
                    ),
                    min_size=1,
                    max_size=3,
                    unique=True,
                )
            )
        )
        for name, below in reads.items()
    }
    return ContractPlan(n - 1, reads, offerings)


def brute_force(plan: ContractPlan) -> Iterator[dict[Hashable, Contract]]:
    """Every choice, and every edge of it looked at."""
    names = list(plan.reads)
    for chosen in product(*(plan.offerings[name] for name in names)):
        of = dict(zip(names, chosen, strict=True))
        edges = ((name, port, below) for name in names for port, below in enumerate(plan.reads[name]))
        if all(well_formed(one) for one in chosen) and all(agree(of[n], port, of[b]) for n, port, b in edges):
            yield of


def same_as_brute_force(plan: ContractPlan) -> None:
    expected = list(brute_force(plan))
    reduction = reduce(plan)

    assert bool(expected) == reduction.consistent
    for name in plan.reads:
        assert {one[name] for one in expected} == set(reduction.rows[name])
    found = list(accordances(plan))
    assert len(expected) == len(found)
    assert all(one in expected for one in found)


@given(plans(graphs=False))
def test_the_reducer_is_brute_force_on_trees(plan: ContractPlan) -> None:
    same_as_brute_force(plan)


@given(plans(graphs=True))
def test_the_reducer_is_brute_force_on_graphs(plan: ContractPlan) -> None:
    same_as_brute_force(plan)


@given(plans(graphs=False))
def test_a_tree_takes_two_semi_joins_an_edge(plan: ContractPlan) -> None:
    reduction = reduce(plan)

    if reduction.consistent:
        assert 2 * len(plan.reads) - 2 == reduction.semi_joins


# --- schemes: C1, C2 and grammar, held to their definitions -----------------------------------------

values = st.integers(0, 3)
rows = st.fixed_dictionaries({"a": values, "b": values})
punctuations = st.one_of(
    values.map(lambda v: Punctuation.linear("a", v)),
    values.map(lambda v: Punctuation.over({"b": v})),
    st.builds(lambda v, b: Punctuation.group_wise("a", v, {"b": b}), values, values),
    st.just(Punctuation.end_of_stream()),
)
streams = st.lists(st.one_of(rows, punctuations), max_size=8)
templates = st.fixed_dictionaries({"a": st.sampled_from(Sign), "b": st.sampled_from(Sign)}).map(Template)
schemes = st.frozensets(templates, min_size=1, max_size=3).map(Scheme)
SIGN_OF = {UpTo: Sign.UP_TO, Equal: Sign.LITERAL}


def shape(one: Punctuation) -> tuple[Sign, ...]:
    return tuple(SIGN_OF.get(type(one.pattern.on(name)), Sign.ANY) for name in ("a", "b"))


@given(streams, schemes)
def test_a_stream_obeys_as_defined(stream: list[dict[str, int] | Punctuation], scheme: Scheme) -> None:
    shapes = [tuple(t.signs.get(name, Sign.ANY) for name in ("a", "b")) for t in scheme]
    given = [one for one in stream if isinstance(one, Punctuation)]
    data = [one for one in stream if not isinstance(one, Punctuation)]
    first = all(shape(one) in shapes for one in given)
    second = all(any(shape(p) == s and p.rules_out(row) for p in given) for row in data for s in shapes)

    assert (first and second) == obeys(stream, scheme)
    clauses = {one.clause for one in breaches(stream, scheme)}
    assert {"C1"} & clauses == (set() if first else {"C1"})
    assert {"C2"} & clauses == (set() if second else {"C2"})


@given(streams)
def test_a_stream_is_grammatical_iff_no_row_matches_an_earlier_punctuation(
    stream: list[dict[str, int] | Punctuation],
) -> None:
    broken = [
        j
        for j, row in enumerate(stream)
        if not isinstance(row, Punctuation)
        and any(isinstance(p, Punctuation) and p.pattern.matches(row) for p in stream[:j])
    ]

    assert broken == ungrammatical(stream)


# --- templates: what implies, what covers -----------------------------------------------------------

DOMAIN = range(3)


def patterns_of(template: Template) -> list[Pattern]:
    """Every pattern of a shape over a small domain; bounds go one beyond it, so that they can pass everything."""
    choices = []
    for name in ("a", "b"):
        match template.signs.get(name, Sign.ANY):
            case Sign.UP_TO:
                choices.append([(name, UpTo(v)) for v in range(max(DOMAIN) + 2)])
            case Sign.LITERAL:
                choices.append([(name, Equal(v)) for v in DOMAIN])
            case Sign.ANY:
                choices.append([None])
    return [Pattern(dict(one for one in some if one is not None)) for some in product(*choices)]


@given(templates, templates)
def test_covered_feedback_is_subsumed_by_one_punctuation(feedback: Template, promised: Template) -> None:
    # On an unbounded domain values are never used up, so that one punctuation must do it: subsume, and not add up.
    expected = all(any(p.subsumes(f) for p in patterns_of(promised)) for f in patterns_of(feedback))

    assert expected == covered(feedback, promised)


@given(templates, templates)
def test_a_template_implies_another_only_if_it_covers_it(one: Template, other: Template) -> None:
    if one.implies(other):
        assert covered(other, one)


# --- forms: the more is promised, the better --------------------------------------------------------

FORMS: list[tuple[form.Form, int]] = [
    (form.Select(), 1),
    (form.Project({"a": ("x", "y"), "b": ("b",)}), 1),
    (form.Union(), 2),
    (form.Remembering(("a",)), 1),
    (form.Remembering(("a", "b")), 1),
    (form.Release("a"), 1),
    (form.Windowing("a", "wid"), 1),
    (form.Group(("a", "b")), 1),
    (form.Group(("b",)), 1),
    (form.WindowAggregate("a", ("window_end",), ("b",)), 1),
    (form.WindowAggregate("a", ("window_end",), ("b",), linear=True), 1),
    (form.WindowAggregate("a", ("window_end",), ("b",), forgets=False), 1),
    (form.Numbered(("b",)), 1),
    (Join(equal=(("b", "b"),), near=("a", "a"), names=({"a": "la", "b": "b"}, {"a": "ra", "b": "rb"})), 2),
]


@given(st.sampled_from(FORMS), schemes, schemes, schemes)
def test_more_promises_never_make_a_contract_impossible(
    one: tuple[form.Form, int], first: Scheme, second: Scheme, more: Scheme
) -> None:
    operator, ports = one
    inputs = [first, second][:ports]
    richer = [Scheme(scheme.templates | more.templates) for scheme in inputs]
    before = {template for contract in operator.offers(inputs) for template in contract.out}
    after = {template for contract in operator.offers(richer) for template in contract.out}

    if operator.offers(inputs):
        assert operator.offers(richer)
    assert before <= after


@given(st.sampled_from(FORMS), schemes, schemes)
def test_at_the_end_of_the_stream_every_operator_can_forget_and_says_so(
    one: tuple[form.Form, int], first: Scheme, second: Scheme
) -> None:
    operator, ports = one
    inputs = [Scheme(scheme.templates | {END}) for scheme in (first, second)][:ports]

    assert any(contract.out.ends for contract in operator.offers(inputs))
