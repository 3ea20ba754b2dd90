"""Going on with changed queries: what of a plan its state depends on, and whose state it is.

A longer disorder, a column that nobody reads, a sink and a name can change without touching state. Everything that
decides what is kept, and of which rows, cannot.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping

from millstream.core.errors import StateError
from millstream.plan import nodes
from millstream.plan.plan import Plan
from millstream.plan.state_text import is_cut, state_text
from millstream.state.manifest import Manifest

log = logging.getLogger(__name__)


def shape(root: nodes.Node) -> list[bool]:
    """Of each node, inputs first: is it more than a cut of columns that nobody reads?"""
    return [not is_cut(node) for node in nodes.walk(root)]


def renamed(asked: Mapping[str, nodes.Node], manifest: Manifest | None) -> dict[str, str]:
    """By query that is new: the one of the checkpoint that it is, under another name.

    A name that is gone and one that is new are one query if their state is the same, and no other fits.
    """
    if manifest is None:
        return {}
    gone = {name: manifest.states.get(name, "") for name in manifest.queries if name not in asked}
    texts = {name: state_text(node) for name, node in asked.items() if name not in manifest.queries}
    out: dict[str, str] = {}
    for name, text in texts.items():
        candidates = [old for old, their in gone.items() if their == text and text]
        rivals = [other for other, their in texts.items() if their == text]
        if len(candidates) == 1 and len(rivals) == 1:
            out[name] = candidates[0]
    return out


def held_by(plan: Plan, manifest: Manifest, formerly: Mapping[str, str]) -> dict[str, list[str]]:
    """By query: the names under which its nodes, inputs first, keep state; "" for a node that is new."""
    out: dict[str, list[str]] = {}
    for root in plan.roots:
        old = formerly.get(root.name, root.name)
        keys, was = manifest.operators.get(old), manifest.shapes.get(old)
        if keys is None:
            continue
        kept = [key for key, there in zip(keys, was or [True] * len(keys), strict=False) if there]
        now = shape(root.node)
        if now == was or sum(now) != len(kept):
            # As it was; or a query that has changed, of which whoever compares the plans will speak.
            out[root.name] = list(keys)
            continue
        some = iter(kept)
        out[root.name] = [next(some) if there else "" for there in now]
    return out


def check_states(plan: Plan, manifest: Manifest, texts: Mapping[str, str], formerly: Mapping[str, str]) -> None:
    """Refuse a query whose state does not fit what it is now. `texts` are the plans, for people."""
    for root in plan.roots:
        old = formerly.get(root.name, root.name)
        if old not in manifest.queries or manifest.states.get(old, "") in ("", state_text(root.node)):
            continue
        raise StateError(
            f"the query {root.name!r} is not the one this checkpoint was made with: "
            f"{_difference((manifest.states[old], state_text(root.node)), (manifest.queries[old], texts[root.name]))}",
            hint="The changed query cannot use the state of the old one. Give the changed query another name: it then "
            "starts with the rows that arrive from now on. To get the results of the old query first, run it "
            f"unchanged and call engine.drain({old!r}).",
        )


def tell_names(asked: Collection[str], manifest: Manifest, formerly: Mapping[str, str]) -> None:
    """Say which queries go on under another name, and warn of state that goes with a query that is gone."""
    for now, old in formerly.items():
        log.info("the query %r goes on with what %r kept: they are the same but for the name", now, old)
    stay = {*formerly.values(), *(name for name in manifest.queries if name in asked)}
    used = {key for name in stay for key in manifest.operators.get(name, ())}
    for name in manifest.queries:
        mine = set(manifest.operators.get(name, ())) - used
        others = {_part(manifest, key) for key in used}
        parts = {_part(manifest, key) for key in mine} - others
        held = [one for one in manifest.segments if one.operator in mine or (one.operator, one.part) in parts]
        if name in stay or not manifest.states.get(name) or not held:
            continue
        rows = sum(written.rows for one in held for written in one.tables.values())
        log.warning(
            "the query %r is not among the queries of this run: the %s of state that it keeps will be dropped with the "
            "next epoch. To get its results first, run the earlier program and drain the query: engine.drain(%r), or "
            "millstream drain on the command line.",
            name,
            "1 row" if rows == 1 else f"{rows} rows",
            name,
        )


def _part(manifest: Manifest, key: str) -> tuple[str, int]:
    """The part of a store that an aggregate reads."""
    lease = manifest.leases.get(key)
    return (key, 0) if lease is None else (lease["store"], lease["part"])


def _difference(states: tuple[str, str], plans: tuple[str, str]) -> str:
    """What the query had and has now, of all that its state depends on: operators, or else columns that they read."""
    parts = [[part for line in text.splitlines() for part in line.strip().split("; ")] for text in states]
    words, columns = ([[part.partition(_OF)[at] for part in some] for some in parts] for at in (0, 2))
    gone, come = _apart(*words)
    if not gone and not come:
        gone, come = _apart(*([one for some in read for one in _COMMA.split(some)] for read in columns))
    had, has = ("; ".join(_shown(some, plan)) or "less" for some, plan in zip((gone, come), plans, strict=True))
    return f"it had `{had}` and now has `{has}`"


def _apart(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    gone, come = [one for one in old if one not in new], [one for one in new if one not in old]
    told = [[one for one in some if not one.startswith("project ")] for some in (gone, come)]
    return (told[0], told[1]) if any(told) else (gone, come)  # what is projected follows from what is asked


def _shown(parts: list[str], plan: str) -> list[str]:
    """A stream as the plan draws it, with its promise in the user's words."""
    drawn = {line.split(": ")[0]: line for line in (line.strip(" └├─│") for line in plan.splitlines())}
    return [drawn.get(part.split(": ")[0], part) if part.startswith("stream ") else part for part in parts]


_OF = " of "
"""What is between an operator and the columns that it reads."""
_COMMA = re.compile(r", (?![^(\[<]*[)\]>])")
"""Between two columns; not within a type, as in `decimal128(10, 2)`."""
