"""Contracts by example: templates, schemes, the contracts of the literature, feedback, the accordance of a plan."""

from __future__ import annotations

import pytest

from millstream.core.contract import form
from millstream.core.contract.accordance import ContractPlan, accordances, reduce
from millstream.core.contract.contract import Contract
from millstream.core.contract.feedback import ANY, NONE, Feedback, covered, expires, fits, well_formed
from millstream.core.contract.join_form import Join
from millstream.core.contract.scheme import Element, Scheme, breaches, obeys, ungrammatical
from millstream.core.contract.template import Template
from millstream.core.errors import PatternError
from millstream.core.parse import parse_pattern
from millstream.core.pattern import ANY as ANY_VALUE
from millstream.core.pattern import Equal, From, OneOf, Pattern, UpTo, ValuePattern
from millstream.core.punctuation import Punctuation


def punctuation(text: str) -> Punctuation:
    return Punctuation(parse_pattern(text))


# --- templates and schemes (F30) --------------------------------------------------------------------

CONFORM = {
    "a bound and a value": (Pattern({"a": UpTo("11:30 p.m."), "b": Equal(26)}), True),
    "no bound": (Pattern({"a": ANY_VALUE, "b": Equal(26)}), False),
    "the other way round": (Pattern({"a": Equal("11:30 p.m."), "b": UpTo(26)}), False),
    "a value too many": (Pattern({"a": UpTo("11:30 p.m."), "b": Equal(26), "c": Equal(3)}), False),
}


@pytest.mark.parametrize("case", CONFORM)
def test_a_punctuation_conforms_if_each_attribute_has_its_sign(case: str) -> None:
    pattern, expected = CONFORM[case]

    assert expected == Template.of("a+", "b#", "c-").conforms(pattern)


def row(a: int, b: int, c: int) -> dict[str, int]:
    return {"a": a, "b": b, "c": c}


PS1, PS2 = Scheme.of("a+ b#"), Scheme.of("a+", "b#")
LEGAL = [row(945, 1, 7), punctuation("a < 1000, b = 1"), punctuation("a < 1000, b = 2")]
TWO = [
    row(1016, 2, 23), row(1017, 1, 13), row(1017, 3, 31), punctuation("a < 1020"), row(1021, 1, 11),
    punctuation("b = 1"), row(1021, 2, 21), row(1021, 3, 31), punctuation("a < 1025"), punctuation("b = 2"),
    row(1027, 3, 30), punctuation("a < 1030"),
]  # fmt: skip


def test_a_stream_obeys_a_scheme_of_one_template() -> None:
    assert obeys(LEGAL, PS1)


def test_c1_each_punctuation_has_a_promised_shape() -> None:
    others = [punctuation("a < 1000"), punctuation("b = 2")]

    assert ["C1", "C1"] == [one.clause for one in breaches([*LEGAL, *others], PS1)]


def test_c2_each_row_is_covered_for_each_template() -> None:
    found = breaches(TWO, PS2)

    assert {("C2", Template.of("b#"), 3)} == {(one.clause, one.template, one.element["b"]) for one in found}  # type: ignore[index]  # rows
    assert obeys([*TWO, punctuation("b = 3")], PS2)


def test_a_template_needs_signs() -> None:
    with pytest.raises(PatternError, match="has no sign"):
        Template.of("ts")


# --- patterns and grammar: what F1 to F3 ask, by the examples they give ------------------------------


TABLE_OF_FORMS: dict[str, tuple[ValuePattern, list[bool]]] = {
    "any": (ANY_VALUE, [True] * 5),
    "equal": (Equal(2), [False, False, True, False, False]),
    "up to, exclusive": (UpTo(2), [True, True, False, False, False]),
    "up to, inclusive": (UpTo(2 + 1), [True, True, True, False, False]),  # ticks are discrete
    "from, exclusive": (From(2 + 1), [False, False, False, True, False]),
    "from, inclusive": (From(2), [False, False, True, True, False]),
    "one of": (OneOf(frozenset({0, 3})), [True, False, False, True, False]),
}


@pytest.mark.parametrize("name", TABLE_OF_FORMS)
def test_the_seven_forms_match_as_their_table_says_and_null_only_any(name: str) -> None:
    pattern, expected = TABLE_OF_FORMS[name]

    assert expected == [Pattern({"a": pattern}).matches({"a": value}) for value in (0, 1, 2, 3, None)]


SENSOR_COLUMNS: tuple[str, ...] = ("time", "id", "temp")
SENSOR = [("10:00", 4, 76.5), ("10:00", 3, 75.9), ("09:59", 7, 76.6), None, ("10:01", 7, 76.6)]


@pytest.mark.parametrize(
    ("pattern", "broken"),
    [(Pattern({"time": UpTo("10:01")}), []), (Pattern({"id": Equal(7)}), [4])],
    ids=["legal", "illegal"],
)
def test_a_grammatical_stream_breaks_no_earlier_punctuation(pattern: Pattern, broken: list[int]) -> None:
    stream: list[Element] = [
        Punctuation(pattern) if one is None else dict(zip(SENSOR_COLUMNS, one, strict=True)) for one in SENSOR
    ]

    assert broken == ungrammatical(stream)


# --- the contracts of the literature (F31) ----------------------------------------------------------

ON_B = Join(equal=(("b", "b"),), names=({"a": "a", "b": "b"}, {"b": "b", "c": "c"}))
ON_BC = Join(equal=(("b", "b"), ("c", "c")), names=({"a": "a", "b": "b", "c": "c"}, {"b": "b", "c": "c", "d": "d"}))
OFFERED: dict[str, tuple[form.Form, list[Scheme], Scheme]] = {
    "CT1": (form.Select(), [Scheme.of("a+")], Scheme.of("a+")),
    "CT2": (form.Select(), [PS2], PS2),
    "CT7": (form.Select(), [Scheme.of("b+")], Scheme.of("b+")),
    "CT8": (form.Select(), [Scheme.of("b+ c-")], Scheme.of("b+")),
    "CT9": (form.Project({"a": ("a",)}), [Scheme.of("a+")], Scheme.of("a+")),
    "CT10": (ON_B, [Scheme.of("b+"), Scheme.of("b+")], Scheme.of("b+")),
    "CT11": (ON_B, [Scheme.of("b#"), Scheme.of("b#")], Scheme.of("b#")),
    "CT13": (ON_B, [Scheme.of("a- b+"), Scheme.of("b+ c-")], Scheme.of("a- b+ c-")),
    "CT14": (ON_B, [Scheme.of("a- b#"), Scheme.of("b# c-")], Scheme.of("a- b# c-")),
    "CT15": (ON_BC, [Scheme.of("b+"), Scheme.of("c+")], Scheme.of("b+ c+")),
    "CT16": (form.Windowing("b", "wid"), [Scheme.of("b+")], Scheme.of("wid+")),
    "CT17": (form.Group(("g", "h")), [Scheme.of("g+ h+")], Scheme.of("g# h#")),
    "CT18": (form.Group(("g", "h")), [Scheme.of("g# h#")], Scheme.of("g# h#")),
    "CT19": (form.Group(("g", "h")), [Scheme.of("g+ h+", "g# h#")], Scheme.of("g# h#")),
    "GCF9": (form.Group(("g",)), [Scheme.of("g+")], Scheme.of("g+")),
}  # fmt: skip


@pytest.mark.parametrize("name", OFFERED)
def test_a_contract_of_the_literature_is_offered(name: str) -> None:
    operator, inputs, out = OFFERED[name]

    assert out in [contract.out for contract in operator.offers(inputs)]


def test_a_condition_cannot_make_punctuation_that_it_was_not_given_ct6() -> None:
    assert all(one.out != Scheme.of("b#") for one in form.Select().offers([Scheme.of("a+")]))


def test_a_join_cannot_forget_by_attributes_that_are_not_joined_ct12() -> None:
    assert () == ON_B.offers([Scheme.of("a#"), Scheme.of("c#")])


def test_two_attributes_have_nine_templates() -> None:
    nine = [Scheme.of(f"a{x} b{y}") for x in "+#-" for y in "+#-"]

    assert 9 == len({form.Select().offers([one])[0] for one in nine})


NAMES = ({"a": "l_a", "k": "k"}, {"b": "r_b", "k": "r_k"})


def test_a_band_join_promises_each_side_by_itself() -> None:
    band = Join(equal=(("k", "k"),), near=("a", "b"), names=NAMES)

    assert [Scheme.of("l_a+", "r_b+")] == [one.out for one in band.offers([Scheme.of("a+"), Scheme.of("b+")])]


def test_a_band_open_at_one_end_keeps_that_side_for_ever() -> None:
    half = Join(near=("a", "b"), bounded=(False, True), names=NAMES)

    assert () == half.offers([Scheme.of("a+"), Scheme.of("b+")])
    assert [Template.of("a+")] == half.uses(Scheme.of("a+"), 0)
    assert [] == half.uses(Scheme.of("b+"), 1)


def test_the_corrected_three_way_join_has_one_safe_order() -> None:
    # r(a,b) [[b:+]], s(b,c,d) [[b:+]], t(b,c) [[c:+]]: the example of the open problem, corrected.
    r, s, t = Scheme.of("b+"), Scheme.of("b+"), Scheme.of("c+")
    first = Join(equal=(("b", "b"),), names=({"a": "a", "b": "b"}, {"b": "s_b", "c": "c", "d": "d"}))
    then = Join(equal=(("b", "b"), ("c", "c")), names=({}, {}))
    other = Join(equal=(("b", "b"), ("c", "c")), names=({"b": "b", "c": "c", "d": "d"}, {"b": "t_b", "c": "t_c"}))
    last = Join(equal=(("b", "b"),), names=({}, {}))

    assert then.offers([first.offers([r, s])[0].out, t])
    assert not last.offers([r, other.offers([s, t])[0].out])


# --- feedback (F33, F34) ----------------------------------------------------------------------------

S, OTHER = Scheme.of("time+"), Scheme.of("id#")
TABLE: list[tuple[Feedback, Feedback, bool]] = [
    (NONE, NONE, True), (NONE, ANY, False), (NONE, S, False),
    (ANY, NONE, True), (ANY, ANY, True), (ANY, S, True),
    (S, NONE, True), (S, ANY, False), (S, S, True), (S, OTHER, False),
]  # fmt: skip


@pytest.mark.parametrize(("accepted", "sent", "expected"), TABLE)
def test_feedback_fits_as_the_table_says(accepted: Feedback, sent: Feedback, expected: bool) -> None:  # noqa: FBT001
    assert expected == fits(accepted, sent)


def test_coverage_is_sound_where_the_syntactic_test_is_not() -> None:
    assert not covered(Template.of("a+"), Template.of("a+", "b#"))
    assert covered(Template.of("a+"), Template.of("a+"))
    assert not well_formed(Contract((Scheme.of("a+ b#"),), Scheme.of("a+ b#"), Scheme.of("a+")))


def test_a_contract_that_relays_feedback_is_well_formed_ct20_and_ct21() -> None:
    whole, kept = Scheme.of("a- b+ c-"), Scheme.of("a- b+")

    assert well_formed(Contract((whole,), kept, kept, (whole,)))
    assert well_formed(Contract((kept,), kept, ANY, (NONE,)))
    assert not well_formed(Contract((kept,), kept, ANY, (kept,)))


def test_feedback_without_an_upper_end_never_expires() -> None:
    assert expires(Pattern({"wid": UpTo(2)}), Scheme.of("wid+"))
    assert expires(Pattern({"wid": UpTo(2), "v": From(50)}), Scheme.of("wid+"))
    assert not expires(Pattern({"wid": From(2)}), Scheme.of("wid+"))
    assert not expires(Pattern({"v": From(50)}), Scheme.of("wid+"))


def speed_map(impute: Feedback = S) -> ContractPlan:
    """Figure 5.9: a duplicate, two conditions, an imputation and a union that paces them."""
    return ContractPlan(
        "pace",
        {
            "pace": ("clean", "impute"),
            "clean": ("duplicate",),
            "impute": ("dirty",),
            "dirty": ("duplicate",),
            "duplicate": ("sensor",),
            "sensor": (),
        },
        {
            "pace": (Contract((S, S), S, NONE, (S, S)),),
            "clean": (Contract((S,), S, ANY),),
            "impute": (Contract((S,), S, impute),),
            "dirty": (Contract((S,), S, ANY),),
            "duplicate": (Contract((S,), S, ANY),),
            "sensor": (Contract((), S, NONE),),
        },
    )


def test_the_speed_map_is_well_formed_and_consistent() -> None:
    assert reduce(speed_map()).consistent


def test_a_paced_branch_that_accepts_no_feedback_is_inconsistent() -> None:
    assert not reduce(speed_map(NONE)).consistent


# --- accordance (F32) -------------------------------------------------------------------------------


def test_the_example_has_exactly_one_consistent_accordance() -> None:
    time, key, both = Scheme.of("a+"), Scheme.of("a#"), Scheme.of("a+", "a#")
    plan = ContractPlan(
        "B",
        {"B": ("A",), "A": ("C",), "C": ()},
        {
            "A": (Contract((time,), time), Contract((key,), key)),
            "B": (Contract((time,), time),),
            "C": (Contract((), both), Contract((), time), Contract((), key)),
        },
    )

    assert 1 == len(list(accordances(plan)))
    assert {"A": 1, "B": 1, "C": 1} == {name: len(rows) for name, rows in reduce(plan).rows.items()}
    assert 2 * 3 - 2 == reduce(plan).semi_joins
