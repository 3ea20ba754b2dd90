"""Refusals: why an operator would keep rows for ever, and the clause or declaration that would make it safe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template
from millstream.core.window import WHOLE, Rows
from millstream.plan import nodes
from millstream.plan.forms import WINDOW_COLUMNS, form_of, grows
from millstream.plan.hints import Hints
from millstream.plan.trace import below, origins
from millstream.plan.words import listed, name_of, promised_text


@dataclass(frozen=True, slots=True)
class Refusal:
    """One operator, the attribute that nothing is promised of, the fact, and what would make it safe."""

    operator: str
    attribute: str
    fact: str
    hint: str

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"operator": self.operator, "attribute": self.attribute, "fact": self.fact, "hint": self.hint}


def refuse(node: nodes.Node, inputs: Sequence[Scheme], *, sql: bool = False) -> Refusal:
    """Why the operator of a node cannot keep any contract with inputs that promise no more than this.

    The hint is in Python, or in SQL if a statement asked for the operator.
    """
    say = Hints(sql)
    match node:
        case nodes.Aggregate() if node.windows[0] == WHOLE:
            return _whole(node, say)
        case nodes.Aggregate() if isinstance(first := node.windows[0], Rows):
            keys = listed(first.partition_by)
            return Refusal(
                name_of(node),
                keys,
                f"{name_of(node)} keeps the last {first.size} rows of every {keys} for ever",
                f"Have each {keys} end: {say.supplied(node, first.partition_by)}; {say.few}.",
            )
        case nodes.Aggregate() if grows(node):
            what = f"a total of every {listed(node.groups)}" if node.groups else "every value"
            return Refusal(
                name_of(node),
                listed(node.groups) or node.attribute,
                f"{name_of(node)} keeps {what} for ever, because its windows never let go",
                f"Give the window {say.range}; {say.few if node.groups else say.end}.",
            )
        case nodes.Aggregate():
            return _unpunctuated(node, node.input, node.attribute, node.groups, "never closes a window", say)
        case nodes.Sort():
            return _unpunctuated(node, node.input, node.attribute, (), "never lets a row go", say)
        case nodes.Top():
            return _top(node, inputs[0], say)
        case nodes.Distinct():
            return _distinct(node, inputs[0], say)
        case nodes.Join():
            return _join(node, inputs, say)
        case nodes.AsOf():
            return _as_of(node, inputs, say)
        case _:
            raise AssertionError(node)  # an operator without memory keeps every contract


def _whole(node: nodes.Aggregate, say: Hints) -> Refusal:
    ordered = _progressing(node.input)
    window = f"Give it a window: {say.window(node.input, ordered)}"
    if not node.groups:
        fact = f"{name_of(node)} is complete only at the end of the stream"
        return Refusal(name_of(node), ordered, fact, f"{window}; {say.end}.")
    keys = listed(node.groups)
    return Refusal(
        name_of(node),
        keys,
        f"{name_of(node)} keeps every {keys} for ever: {_promised(node.input)}, and nothing says that a group is over",
        f"{window}; or have each {keys} end: {say.supplied(node, node.groups)}; {say.end}.",
    )


def _unpunctuated(
    node: nodes.Node, source: nodes.Node, attribute: str, groups: tuple[str, ...], what: str, say: Hints
) -> Refusal:
    fact = f"{name_of(node)} {what}: no punctuation on {attribute} reaches it; {_promised(source)}"
    windows = _unordered_windows(source, attribute)
    if windows is not None:
        hint = f"The windows it reads leave in the order of their ends, and {attribute} is not one: use window_end."
        if isinstance(windows.windows[0], Rows):
            hint = f"No punctuation speaks of windows of rows: give those that it reads a range of time; {say.end}."
        return Refusal(name_of(node), attribute, fact, hint)
    # A key that is not grouped on may have been left out on the way, and its punctuation with it.
    for stream, name in origins(source, attribute):
        for template in (one for one in _templates(stream) if name in one.up_to and one.literals):
            apart = listed(key for key in template.literals if key not in groups)
            wider = f"or declare {say.declared(source, attribute)}"
            together = f"group by {apart} too, {wider}" if apart and isinstance(node, nodes.Aggregate) else wider[3:]
            hint = f"It comes for each {listed(template.literals)} apart: {together}."
            return Refusal(name_of(node), attribute, fact, hint)
    if not origins(source, attribute):
        hint = f"{attribute} is computed, and punctuation does not pass a computation: use the stream's own column."
        return Refusal(name_of(node), attribute, fact, hint)
    return Refusal(name_of(node), attribute, fact, f"Declare {say.declared(source, attribute)}; {say.end}.")


def _unordered_windows(node: nodes.Node, column: str) -> nodes.Aggregate | None:
    """The aggregate, if it is a column of windows in whose order they do not leave, as where sessions start."""
    while not isinstance(node, nodes.Aggregate):
        found = below(node, column)
        if len(found) != 1:
            return None
        node, column = found[0]
    if column not in WINDOW_COLUMNS:
        return None
    offers = form_of(node, ends=False).offers([Scheme.of(Template({node.attribute: Sign.UP_TO}))])
    return node if offers and Template({column: Sign.UP_TO}) not in offers[0].out.templates else None


def _top(node: nodes.Top, scheme: Scheme, say: Hints) -> Refusal:
    if node.windows:
        return _unpunctuated(node, node.input, node.keys[-1], (), "never knows a window complete", say)
    keys = listed(node.keys)
    fact = f"{name_of(node)} keeps every {keys} for ever: {_promised(node.input)}, and none of it speaks of {keys}"
    linear = next((one.up_to[0] for one in scheme if len(one.up_to) == 1 and not one.literals), None)
    together = (
        "" if linear is None else f"Partition by {say.name(linear)} too, or by the window_end of an aggregate; or h"
    )
    return Refusal(
        name_of(node), keys, fact, f"{together or 'H'}ave each {keys} end: {say.supplied(node, node.keys)}; {say.end}."
    )


def _distinct(node: nodes.Distinct, scheme: Scheme, say: Hints) -> Refusal:
    columns = listed(node.columns)
    fact = (
        f"{name_of(node)} keeps every {columns} for ever: {_promised(node.input)}, and none of it speaks of {columns}"
    )
    # What the stream promises may have been left out on the way: then the column must come along.
    promised = [*scheme, *(one for source in nodes.sources(node) for one in _templates(source))]
    linear = next((one.up_to[0] for one in promised if len(one.up_to) == 1 and not one.literals), None)
    if linear is not None:
        hint = f"Tell rows apart by {linear} too: {say.distinct((*node.columns, linear))}"
    else:
        ordered = next((one for one in node.columns if _is_ordered(node.input, one)), None)
        wanted = ordered or _progressing(node.input)
        hint = f"Declare {say.declared(node.input, wanted)}" + ("" if ordered else f", and add {wanted} to the columns")
    keys = tuple(node.columns[:1])
    return Refusal(
        name_of(node), columns, fact, f"{hint}; or have each {keys[0]} end: {say.supplied(node, keys)}; {say.end}."
    )


def _join(node: nodes.Join, inputs: Sequence[Scheme], say: Hints) -> Refusal:
    form = form_of(node, ends=False)
    sides = ("left", "right")
    lacking = [side for side in (0, 1) if not form.uses(inputs[side], side)]
    kept = " and ".join(f"its {sides[1 - side]} side" for side in reversed(lacking))
    time = node.time
    if time is None and node.nulls_equal:
        return _whole_rows(node, kept, say)
    if time is None:
        left, right = (_progressing(one) for one in node.inputs)
        keys = listed(dict.fromkeys(name for pair in node.keys for name in pair)) or "anything"
        return Refusal(
            name_of(node),
            f"{left}, {right}" if left != right else left,
            f"{name_of(node)} keeps the rows of {kept} for ever: nothing bounds the time between the rows of a pair, "
            f"and no punctuation speaks of {keys}",
            f"Bound the time: {say.pair(node.inputs[0], left, right)}; {say.end}.",
        )
    side = lacking[0]
    attribute = (time.left, time.right)[side]
    if isinstance(time, nodes.Band) and (time.low if side == 0 else time.high) is None:
        return Refusal(
            name_of(node),
            attribute,
            f"{name_of(node)} keeps the rows of {kept} for ever: the time between the rows of a pair is bounded at one "
            "end only",
            f"Bound it at the other end too: {say.other_end(node.inputs[0], time.left, time.right)}; {say.end}.",
        )
    return Refusal(
        name_of(node),
        attribute,
        f"{name_of(node)} keeps the rows of {kept} for ever: no punctuation on {attribute} comes from its "
        f"{sides[side]} side; {_promised(node.inputs[side])}",
        f"Declare {say.declared(node.inputs[side], attribute)}; {say.end}.",
    )


def _whole_rows(node: nodes.Join, kept: str, say: Hints) -> Refusal:
    """Of difference and intersection, whose rows are compared in all columns."""
    names, ordered = [left for left, _ in node.keys], _progressing(node.inputs[0])
    columns = listed(names)
    method = "difference" if node.how == "anti" else "intersect"
    return Refusal(
        name_of(node),
        columns,
        f"{name_of(node)} keeps the rows of {kept} for ever: no column of {columns} makes progress on both sides",
        f"{say.both(names, ordered, method)}; {say.end}.",
    )


def _as_of(node: nodes.AsOf, inputs: Sequence[Scheme], say: Hints) -> Refusal:
    form, keys = form_of(node, ends=False), tuple(pair[0] for pair in node.keys)
    left, right = node.time
    if not form.uses(inputs[1], 1):
        return Refusal(
            name_of(node),
            right,
            f"{name_of(node)} never lets a left row go: no punctuation on {right} comes from its right side; "
            f"{_promised(node.inputs[1])}",
            f"Declare {say.declared(node.inputs[1], right)}; {say.end}.",
        )
    if node.within is not None or not keys:
        return Refusal(
            name_of(node),
            left,
            f"{name_of(node)} keeps the rows of its right side for ever: no punctuation on {left} comes from its left "
            f"side; {_promised(node.inputs[0])}",
            f"Declare {say.declared(node.inputs[0], left)}; {say.end}.",
        )
    return Refusal(
        name_of(node),
        listed(keys),
        f"{name_of(node)} keeps the last right row of every {listed(keys)} for ever: nothing says how old a partner "
        f"may be, or that no more left rows will come for one",
        f"Bound the distance: {say.as_of(node.inputs[0], left, right)}; or have each {listed(keys)} end: "
        f"{say.supplied(node.inputs[0], keys)}; {say.few}.",
    )


def _promised(node: nodes.Node) -> str:
    return ", ".join(f"{source.name} {promised_text(source)}" for source in nodes.sources(node))


def _progressing(node: nodes.Node) -> str:
    """An attribute that progresses, or could: for examples in hints."""
    for source in nodes.sources(node):
        if source.progress is not None and source.progress.attribute is not None:
            return str(source.progress.attribute)
    ordered = [(source, name) for source in nodes.sources(node) for name in source.domains]
    timed = [name for source, name in ordered if source.domains[name].kind.value in ("timestamp", "date")]
    return next(iter([*timed, *(name for _, name in ordered)]), "ts")


def _is_ordered(node: nodes.Node, column: str) -> bool:
    return any(source.domains.get(name) is not None for source, name in origins(node, column))


def _templates(source: nodes.Source) -> frozenset[Template]:
    leaf = form_of(source, ends=False).offers(())
    return leaf[0].out.templates
