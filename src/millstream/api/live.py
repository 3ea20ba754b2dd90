"""Live changes: queries come, go and change while the engine runs. They take effect between two epochs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from millstream.api.contract import refuse
from millstream.core.errors import PlanError, nearest
from millstream.plan import nodes
from millstream.plan.check_report import report
from millstream.plan.feedback.placing import Knobs
from millstream.runtime.changes import Change
from millstream.runtime.query import HostQuery

if TYPE_CHECKING:
    from millstream.api.engine import Engine
    from millstream.api.operations.feedback import Sent
    from millstream.api.query import Query
    from millstream.runtime.run import Run

_LOOK = 0.02
"""Seconds between two looks whether a change was made."""


class Live:
    """The changes of an engine. Without a run they only are what the next start begins with."""

    def __init__(self, engine: Engine) -> None:
        """Of this engine."""
        self._engine = engine
        self._come: list[Query] = []
        self._gone: list[str] = []
        self._said: list[Sent] = []
        self._deep = 0
        self.between_epochs = False
        """Is the run itself asking, between two epochs? Then it makes the change at once."""

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is declared in this block takes effect at its end; if it fails, nothing does."""
        self._deep += 1
        try:
            yield
        except BaseException:
            if self._deep == 1:
                for query in self._come:
                    self._engine._queries.pop(query.name or "", None)
                self._come, self._gone = [], []
            raise
        finally:
            self._deep -= 1
        self._make()

    def come(self, query: Query) -> None:
        """A query has got its name."""
        if self._engine.running is None or query in self._come:
            return
        self._come.append(query)
        self._make()

    def go(self, query: Query) -> None:
        """A query is to run no longer."""
        assert query.name is not None
        if query in self._come:
            self._come.remove(query)
        elif query.name in self._engine.host.queries:
            self._gone.append(query.name)
            self._make()

    def say(self, sent: Sent) -> None:
        """A reader has sent feedback. To a query that has not been handed over it goes together with that."""
        name = sent.query.name
        if name is None or self._engine._queries.get(name) is not sent.query:
            raise PlanError("feedback is sent to a query that runs", hint='Name it first: query.named("q").')
        if name not in self._engine.host.queries:
            self._said.append(sent)
            return
        self._tell([sent])

    def speak(self) -> None:
        """Send what waited for queries to be handed over."""
        said, self._said = self._said, []
        if said:
            self._tell(said)

    def withdraw(self, sent: Sent) -> None:
        """A reader takes back what it said."""
        self._said = [one for one in self._said if one is not sent]
        if sent.numbers:
            self._submit(Change(cancel=sent.numbers))

    def _tell(self, said: list[Sent]) -> None:
        messages = [(one.query.name or "", feedback) for one in said for feedback in one.bound]
        change, at = Change(send=messages), 0
        for one in said:
            one.told(change, at)
            at += len(one.bound)
        self._submit(change)

    def replace(self, query: Query, other: Query) -> Query:
        """Another query takes over the name, and the sinks unless it has its own."""
        engine, name = self._engine, query.name
        if name is None or engine._queries.get(name) is not query:
            raise PlanError("a query that does not run cannot be replaced", hint='Name it first: query.named("q").')
        if not other.sinks:
            if other.node.schema != query.node.schema and query.sinks:
                raise PlanError(
                    f"the new query has other columns than {name!r}, whose sinks it would write to",
                    hint="Give the new query sinks of its own, or the same columns.",
                )
            other.take_over(query)
        for old, new in zip(query.sides, other.sides, strict=True):
            if not new.sinks and new.schema == old.schema:
                new.take_over(old)
        if other.name is not None:
            engine._queries.pop(other.name, None)
        with self.together():
            engine._queries.pop(name)
            other.name = None
            made = other.named(name)
            if name in engine.host.queries:
                self._gone.append(name)
                self._come = [*(one for one in self._come if one is not made), made]
        return made

    def _make(self) -> None:
        """Hand what waits to the host, and wait until it is so."""
        if self._deep or not (self._come or self._gone):
            return
        come, gone = self._come, self._gone
        self._come, self._gone = [], []
        engine = self._engine
        try:
            self._check(come)
            add = [engine.host_query(query.name or "", query) for query in come]
            names = [source.name for query in come for source in nodes.sources(query.node)]
            change = Change(add, {name: engine._sources[name] for name in names}, gone)
            self._submit(change)
        except BaseException:
            for query in come:
                engine._queries.pop(query.name or "", None)
            raise

    def _check(self, come: list[Query]) -> None:
        """A query that could not be started cannot join a run either. Without a run, the next start asks."""
        engine = self._engine
        if not engine._marked and engine.running is not None:
            asked = {query.name or "": query.node for query in come}
            refuse(report(asked, asked=engine._asked), engine._places)

    def _submit(self, change: Change) -> None:
        engine = self._engine
        run = engine.running
        if run is None:
            engine.host.change(change)
            return
        engine.host.changes.submit(change)
        if self.between_epochs:
            engine.host.changes.apply(engine.host.change)
        elif run.telling == threading.get_ident() or threading.current_thread().name == f"millstream-{run.name}":
            return  # the run itself asks, and makes the change when its epoch is over
        while not change.done.wait(_LOOK):
            if not run.is_active:  # it ended before it came to it
                engine.host.apply_changes()
        if change.error is not None:
            raise change.error


class LiveChanges:
    """What an engine offers for changes while it runs."""

    _live: Live
    _queries: dict[str, Query]
    _run: Run | None
    host: Any

    @property
    def running(self) -> Run | None:
        """The run under way; None if there is none."""
        return self._run if self._run is not None and self._run.is_active else None

    def changes(self) -> AbstractContextManager[None]:
        """Make several changes to a run at once, between the same two epochs.

        While the engine runs, a query that gets its name begins at once, at the next epoch. Within `with
        engine.changes():` queries and sinks can be declared in any order, and begin together at the end of the block.
        """
        return self._live.together()

    @contextmanager
    def between_epochs(self) -> Iterator[None]:
        """Changes in this block are made at once: the run is between two epochs, and it is the one that asks."""
        self._live.between_epochs = True
        try:
            yield
        finally:
            self._live.between_epochs = False

    def knobs(self, operator: str, *, exploit: bool = True, propagate: bool = True) -> None:
        """For experiments: have operators of a kind not drop what their readers ignore, or not tell their inputs.

        Kinds are those of `run.progress`: select, project, union, join, aggregate, top, … Operators that make results
        of several rows tell their inputs only what they heed themselves: else results could be wrong.
        """
        known = sorted(name.lower() for name in nodes.__all__ if name[0].isupper())
        if operator not in known:
            raise PlanError(f"there is no kind of operator {operator!r}", hint=nearest(operator, known))
        self.host.feedback.turn(operator, Knobs(exploit=exploit, propagate=propagate))

    def drop(self, name: str) -> None:
        """Run a query no longer, from the next epoch on. Its state is forgotten, as far as no other query reads it."""
        if name not in self._queries:
            known = nearest(name, self._queries) if self._queries else "There is none."
            raise PlanError(f"there is no query {name!r}", hint=known)
        query = self._queries.pop(name)
        self._live.go(query)

    def replace(self, query: Query, other: Query) -> Query:
        """Have another query run under the name of this one, from the next epoch on; see `Query.replace`."""
        return self._live.replace(query, other)

    def host_query(self, name: str, query: Query) -> HostQuery:
        """A query as hosts know it."""
        outputs = (query, query.late, query.rejected, query.partial)
        if getattr(self.host, "spark", None) is None and any(one.needs_spark for one in outputs):
            raise PlanError(
                f"query {name!r} writes to a table of Spark, and this engine runs in this process",
                hint='Leave host="local" out, or choose a folder: .to_parquet("out").',
            )
        results, late, rejected, partial = (one.resolved() for one in outputs)
        return HostQuery(name, query.node, results, late, rejected, partial, query.partial.finals)
