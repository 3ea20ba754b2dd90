"""Going on with changed queries: what of a plan its state depends on, and whose state it is.

A longer disorder, a column that nobody reads, a sink and a name can change without touching state. Everything that
decides what is kept, and of which rows, cannot.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence

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
            f"{_difference(manifest.queries[old], texts[root.name])}",
            hint="What it keeps is of no use to the changed query. Give the changed query another name, and it begins "
            f"with the rows to come. To have the answers of the old one first, run it as it was and call "
            f"engine.drain({old!r}).",
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


def _difference(before: str, now: str) -> str:
    old, new = before.splitlines(), now.splitlines()
    gone = _told([line for line in old if line not in new])
    come = _told([line for line in new if line not in old])
    return f"it had `{'; '.join(gone) or 'less'}` and now has `{'; '.join(come) or 'less'}`"


def _told(lines: Sequence[str]) -> list[str]:
    """What differs, by the operators; by the columns of their rows only if nothing else does."""
    drawn = [line.strip(" └├─│") for line in lines]
    return [line for line in drawn if not _SCHEMA.match(line)] or drawn


_SCHEMA = re.compile(r"[A-Z]\w*: ")
"""How the lines of a plan begin that name the columns of a node."""
