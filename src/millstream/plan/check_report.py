"""What `check` says of all queries: as text for people, as a dict for machines, as an error where one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from millstream.core.errors import PlanError, nearest
from millstream.plan import nodes
from millstream.plan.check import Asked, Checked, check
from millstream.plan.hints import Hints
from millstream.plan.optimize import optimize
from millstream.plan.plan import Plan
from millstream.plan.remedy import Remedy, remedies
from millstream.plan.rewrite.share_state import share_state
from millstream.plan.sharing import Sharing
from millstream.plan.words import listed

_MOST = 5  # remedies that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The verdict on one query, and what its streams could promise to make it safe."""

    checked: Checked
    sql: bool = False
    """Was it asked in a statement? Then so is what would do."""

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """The least that the streams would have to promise, the nearest to what they do first."""
        return remedies(self.checked.root, Hints(self.sql))

    def would_do(self) -> list[str]:
        """The first few remedies, a line each."""
        found = self.remedies
        more = [f"… and {len(found) - _MOST} more"] if len(found) > _MOST else []
        return [*map(str, found[:_MOST]), *more]

    def __str__(self) -> str:
        """Operators from the streams up, then the streams."""
        checked = self.checked
        out = [f"query {checked.name}: {'safe' if checked.safe else 'refused'}"]
        for verdict in checked.verdicts:
            out += [f"  {line}" for line in verdict.lines()]
        if not checked.verdicts:
            out.append("  keeps nothing")
        out += [f"  stream {one.name} {one.promise_text()}" for one in checked.sources]
        if not checked.safe:
            would_do = self.would_do()
            out.append("  one of these would do:" if would_do else "  no punctuation of its streams would do")
            out += [f"    {one}" for one in would_do]
        return "\n".join(out)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "query": self.checked.name,
            "safe": self.checked.safe,
            "operators": [one.to_dict() for one in self.checked.verdicts],
            "streams": {one.name: one.promise_text() for one in self.checked.sources},
            "would_do": [one.to_dict() for one in self.remedies],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedState:
    """State that several queries read, and that is kept once though each query's verdict speaks of it."""

    what: str
    keeps: str
    readers: tuple[str, ...]

    def __str__(self) -> str:
        """What is kept, and for whom."""
        return f"{self.what}\n    keeps    {self.keeps}: {listed(self.readers)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The verdicts on all queries of an engine."""

    answers: tuple[Answer, ...]
    shared: tuple[SharedState, ...] = ()

    @property
    def safe(self) -> bool:
        """Is every query safe?"""
        return all(one.checked.safe for one in self.answers)

    def __getitem__(self, name: str) -> Answer:
        """The verdict on one query."""
        known = {one.checked.name: one for one in self.answers}
        if name not in known:
            raise PlanError(
                f"there is no query {name!r}", hint=nearest(name, known) if known else "No query has a name yet."
            )
        return known[name]

    def __str__(self) -> str:
        """Query by query."""
        shared = ["shared by several queries\n" + "\n".join(f"  {one}" for one in self.shared)] if self.shared else []
        return "\n\n".join([*map(str, self.answers), *shared])

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "safe": self.safe,
            "queries": [one.to_dict() for one in self.answers],
            "shared": [asdict(one) for one in self.shared],
        }


def shared_state(queries: Mapping[str, nodes.Node], sharing: Sharing) -> tuple[SharedState, ...]:
    """The state that several of these queries would read, each store once."""
    plan = share_state(optimize(Plan.of(queries)), sharing=sharing).plan
    readers = plan.readers()
    stores = {
        id(node): node
        for root in plan.roots
        for node in nodes.walk(root.node)
        if isinstance(node, nodes.Panes | nodes.SharedJoin) and len(readers[id(node)]) > 1
    }
    return tuple(
        SharedState(what=node.describe()[0], keeps=node.kept(), readers=readers[key]) for key, node in stores.items()
    )


def report(
    queries: Mapping[str, nodes.Node],
    *,
    ends: bool = False,
    asked: Asked = MappingProxyType({}),
    sharing: Sharing | None = None,
) -> CheckReport:
    """Check every query; with `ends` the streams are promised to end.

    `asked` are the nodes that statements asked for: of these, hints are SQL. With `sharing`, state that
    several queries would read is told once.
    """
    out: list[Answer] = []
    for name, root in queries.items():
        checked = check(name, root, ends=ends, asked=asked)
        out.append(Answer(checked=checked, sql=any(id(node) in asked for node, _ in checked.refusals)))
    return CheckReport(answers=tuple(out), shared=() if sharing is None else shared_state(queries, sharing))
