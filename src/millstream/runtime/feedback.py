"""The feedback loop of a host: feedback that is in force, how long, and what operators leave out because of it.

It changes only between two epochs, for all operators at once. What it knows is plain data, so that a host with a
checkpoint can keep it in its manifest, and an epoch that is computed again leaves out the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.core.errors import PlanError
from millstream.core.feedback import Feedback, InForce, Intent, Records, compact, covered, passed, plain, restored
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.ops.feedback.sweep import MOST as DOOMED
from millstream.ops.guard import Guards
from millstream.plan import nodes
from millstream.plan.feedback.placing import (
    ALL,
    Guarded,
    Knobs,
    KnobsOf,
    Unsettled,
    first,
    lost,
    lost_to_newcomers,
    place,
)
from millstream.runtime.changes import Change
from millstream.runtime.plain_progress import pattern_from, pattern_plain

MOST = 64
"""Messages in force for one query. A reader that sends more without withdrawing any is told so."""


@dataclass(slots=True, kw_only=True)
class Scene:
    """The plan at some time, as a host has it."""

    roots: Mapping[str, nodes.Node]
    name: Callable[[nodes.Node], str]
    """What a node is called, whatever other queries come and go."""
    promised: Callable[[nodes.Node], Progress]
    """What is known of the rows that leave a node."""
    high: Callable[[nodes.Source], int]
    """The greatest value of its attribute that has come in a stream."""

    def named(self) -> dict[str, nodes.Node]:
        """Every node, by its name."""
        return {self.name(node): node for root in self.roots.values() for node in nodes.walk(root)}


@dataclass(slots=True)
class FeedbackLoop:
    """What readers have said, and what operators do about it."""

    sent: dict[str, tuple[InForce, ...]] = field(default_factory=dict[str, tuple[InForce, ...]])
    """By query."""
    lingering: dict[str, Records] = field(default_factory=dict[str, Records])
    """By node: results that have lost rows to feedback which has been withdrawn, and that must not leave."""
    unsettled: dict[str, Unsettled] = field(default_factory=dict[str, Unsettled])
    """By node: records by which its results are losing rows."""
    found: dict[str, dict[int, Records]] = field(default_factory=dict[str, dict[int, Records]])
    """By node and port: what its operator has found out that it ignores of its inputs."""
    wishes: dict[str, dict[int, Records]] = field(default_factory=dict[str, dict[int, Records]])
    """By node and port: what its operator wants first of its inputs."""
    numbers: int = 0
    heeded: bool = False
    """Has anything ever been left out?"""
    knobs: KnobsOf = lambda _: ALL
    guarded: dict[int, Guarded] = field(default_factory=dict[int, Guarded])
    """By identity of a node, for the plan that runs."""
    desired: dict[int, Records] = field(default_factory=dict[int, Records])
    """By identity of a node: the rows that readers want first."""
    _known: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Is there anything to do?"""
        return bool(self.sent or self.lingering or self.unsettled or self.found or self.wishes)

    def turn(self, kind: str, knobs: Knobs) -> None:
        """Have operators of a kind do less with feedback, for experiments."""
        others = self.knobs

        def turned(node: nodes.Node) -> Knobs:
            kinds = {type(one).__name__.lower() for one in (node, getattr(node, "of", node))}
            return knobs if kind in kinds else others(node)

        self.knobs = turned

    # --- what readers say --------------------------------------------------------------------------

    def send(self, query: str, feedback: Feedback, epoch: int) -> int:
        """Put feedback in force; the number by which to withdraw it. What it covers of the same kind goes."""
        old = self.sent.get(query, ())
        kept = [one for one in old if one.feedback.intent != feedback.intent or not _covers(feedback, one.feedback)]
        if len(kept) >= MOST:
            raise PlanError(
                f"{len(kept)} feedbacks are in force for {query!r}, and none is covered by this one",
                hint="Withdraw those that are over, with cancel(), or give them a ttl.",
            )
        self.numbers += 1
        until = None if feedback.ttl is None else epoch + feedback.ttl
        self.sent[query] = (*kept, InForce(self.numbers, feedback, until))
        return self.numbers

    def heed(self, change: Change, queries: Container[str], epoch: int) -> None:
        """Take feedback that readers send and withdraw. Queries that run no longer have none."""
        self._keep(lambda query, _: query in queries)
        for number in change.cancel:
            self.cancel(number)
        for query, feedback in change.send:
            if query not in queries:
                raise PlanError(f"there is no query {query!r} to send feedback to", hint="Name it first.")
            change.numbers.append(self.send(query, feedback, epoch))

    def cancel(self, number: int) -> None:
        """Withdraw feedback; what has been withdrawn or has expired already stays so."""
        self._keep(lambda _, one: one.number != number)

    def in_force(self, number: int) -> bool:
        """Is this one still in force?"""
        return any(one.number == number for some in self.sent.values() for one in some)

    def records(self, query: str, intent: Intent = Intent.ASSUMED) -> Records:
        """What is said of a query's rows with an intent."""
        said = self.sent.get(query, ())
        return compact(one.feedback.pattern for one in said if one.feedback.intent is intent)

    def demands(self) -> dict[str, Records]:
        """By query: the results that its reader needs now."""
        found = {query: self.records(query, Intent.DEMANDED) for query in self.sent}
        return {query: records for query, records in found.items() if records}

    def expire(self, scene: Scene, epoch: int) -> bool:
        """Let go what has done its work: punctuation has passed it, or it was for so many epochs. True if any went."""
        known = {query: scene.promised(root) for query, root in scene.roots.items() if self.sent.get(query)}
        before = dict(self.sent), dict(self.lingering)
        self._keep(
            lambda query, one: (
                query in scene.roots
                and (one.until is None or epoch < one.until)
                and not passed(one.feedback.pattern, known[query])
            )
        )
        if self.lingering:
            self._expire_lingering(scene)
        return before != (self.sent, self.lingering)

    def _expire_lingering(self, scene: Scene) -> None:
        at = scene.named()
        self.lingering = {
            name: left
            for name, records in self.lingering.items()
            if name in at and (left := _left(records, scene.promised(at[name])))
        }

    def _keep(self, keep: Callable[[str, InForce], bool]) -> None:
        found = {query: tuple(one for one in some if keep(query, one)) for query, some in self.sent.items()}
        self.sent = {query: some for query, some in found.items() if some}

    # --- what operators do -------------------------------------------------------------------------

    def settle(self, scene: Scene) -> None:
        """Work out what each node leaves out from the next epoch on. The plan, or the feedback, may be another now."""
        at = scene.named() if self else {}
        self.guarded = self._placed(scene, at)
        more = lost(self.unsettled, self.guarded, at, scene.high)
        more |= lost_to_newcomers({*self.unsettled, *self.lingering}, self._known, at, scene.high)
        for name, records in more.items():
            self.lingering[name] = compact([*self.lingering.get(name, ()), *records])
        if more:
            self._expire_lingering(scene)
            self.guarded = self._placed(scene, at)
        self.unsettled = {name: found for name, node in at.items() if (found := self._unsettled(node))}
        self.heeded = self.heeded or bool(self.guarded)
        self._known = frozenset(at)
        asked = {query: self.records(query, Intent.DESIRED) for query in self.sent if query in scene.roots}
        wishes = {id(at[name]): ports for name, ports in self.wishes.items() if name in at}
        self.desired = first(scene.roots, asked, wishes) if wishes or any(asked.values()) else {}

    def hear(
        self,
        found: Mapping[str, Mapping[int, Records]],
        wishes: Mapping[str, Mapping[int, Records]],
        doomed: Mapping[str, Records],
    ) -> bool:
        """Take what operators ignore, by what they have found out in an epoch, and want first; True if it is news.

        `doomed` are results that can only become such as nobody reads: they must not leave until punctuation has
        passed them, whatever readers say meanwhile.
        """
        fresh = {
            name: new
            for name, records in (doomed if self else {}).items()  # else nobody asks any more
            if (new := tuple(one for one in records if not covered(one, self.lingering.get(name, ()))))
        }
        for name, records in fresh.items():
            had = self.lingering.get(name, ())
            self.lingering[name] = compact([*had, *records[: max(0, DOOMED - len(had))]])
        return self._hear(found, wishes) or bool(fresh)

    def _hear(self, found: Mapping[str, Mapping[int, Records]], wishes: Mapping[str, Mapping[int, Records]]) -> bool:
        now = [{name: dict(ports) for name, ports in some.items() if ports} for some in (found, wishes)]
        if now == [self.found, self.wishes]:
            return False
        self.found, self.wishes = now
        return True

    def guards(self, node: nodes.Node) -> Guards | None:
        """What the operator of a node leaves out."""
        found, desired = self.guarded.get(id(node)), self.desired.get(id(node), ())
        if found is None and not desired:
            return None
        mine = found or Guarded()
        return Guards(
            inputs=mine.inputs,
            output=mine.output,
            sweeps=mine.sweeps,
            groups=getattr(getattr(node, "of", node), "groups", ()),
            makes_rows=node.makes_rows,
            desired=desired,
            ignored=mine.ignored,
        )

    def _placed(self, scene: Scene, at: Mapping[str, nodes.Node]) -> dict[int, Guarded]:
        asked = {query: self.records(query) for query in self.sent if query in scene.roots}
        lingering = {id(at[name]): records for name, records in self.lingering.items() if name in at}
        found = {id(at[name]): ports for name, ports in self.found.items() if name in at}
        return place(scene.roots, asked, lingering, self.knobs, found)

    def _unsettled(self, node: nodes.Node) -> Unsettled:
        return self.guarded[id(node)].unsettled if id(node) in self.guarded else {}

    # --- for reports and manifests -----------------------------------------------------------------

    def report(self, query: str) -> list[dict[str, Any]]:
        """What is in force for a query, for people."""
        return [
            {"number": one.number, "feedback": str(one.feedback), "until": one.until}
            for one in self.sent.get(query, ())
        ]

    def to_plain(self) -> dict[str, Any]:
        """As plain values."""
        if not self and not self.numbers and not self.heeded:
            return {}
        return {
            "numbers": self.numbers,
            "heeded": self.heeded,
            "sent": {
                query: [plain(one, pattern_plain(one.feedback.pattern)) for one in some]
                for query, some in self.sent.items()
            },
            "lingering": {name: [pattern_plain(one) for one in some] for name, some in self.lingering.items()},
            "unsettled": {
                name: [[pattern_plain(one), column] for one, column in some.items()]
                for name, some in self.unsettled.items()
            },
            "known": sorted(self._known),
        }

    def restore(self, fields: Mapping[str, Any], formerly: Mapping[str, str]) -> None:
        """Go on from what `to_plain` gave; some queries may have had other names then."""
        names = {old: now for now, old in formerly.items()}
        self.numbers = int(fields.get("numbers", 0))
        self.heeded = bool(fields.get("heeded", False))
        sent: Mapping[str, Iterable[Any]] = fields.get("sent", {})
        self.sent = {
            names.get(query, query): tuple(restored(one, pattern_from(one["pattern"])) for one in some)
            for query, some in sent.items()
        }
        lingering: Mapping[str, Iterable[Any]] = fields.get("lingering", {})
        self.lingering = {name: tuple(pattern_from(one) for one in some) for name, some in lingering.items()}
        self.unsettled = {
            name: {pattern_from(one): column for one, column in some}
            for name, some in fields.get("unsettled", {}).items()
        }
        self._known = frozenset(fields.get("known", ()))


def _covers(new: Feedback, old: Feedback) -> bool:
    return covered(old.pattern, (new.pattern,))


def _left(records: Iterable[Pattern], progress: Progress) -> Records:
    return tuple(one for one in records if not passed(one, progress))
