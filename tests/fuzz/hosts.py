"""A case on a host: what left, what was late, what was rejected, or why it was refused."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import millstream as ms
from fuzz.case import Case, Life
from fuzz.question import Streams
from fuzz.values import Row
from millstream.core.settings import Settings
from support.crash import Plug, pulled
from support.in_process import engine as engine_on_disk

Ask = Callable[[ms.Engine, Streams], ms.Query]
SECONDS = 30.0
"""How long a run may take before it is said to hang."""


class FaultError(Exception):
    """Something that must never be: a raw traceback, a hang, or books that do not balance."""


@dataclass
class Left:
    """All that a query gave."""

    rows: list[Row] = field(default_factory=list[Row])
    late: list[Row] = field(default_factory=list[Row])
    rejected: list[Row] = field(default_factory=list[Row])
    schema: pa.Schema | None = None


@dataclass
class Played:
    """What each query gave, or the refusal that all of them met."""

    left: list[Left] = field(default_factory=list[Left])
    refused: str | None = None


class Keeper:
    """A sink that keeps the rows of each epoch once, however often they are delivered."""

    def __init__(self) -> None:
        self.epochs: dict[int, list[Row]] = {}

    def write(self, rows: pa.Table, epoch: int) -> None:
        self.epochs[epoch] = plain(rows)

    def close(self) -> None:
        """Nothing to let go of."""

    @property
    def rows(self) -> list[Row]:
        """All of them, without the number of the epoch, which depends on restarts."""
        every = [row for rows in self.epochs.values() for row in rows]
        return [{name: value for name, value in row.items() if name != "epoch"} for row in every]


def plain(table: pa.Table) -> list[Row]:
    """Rows as dicts; a time that Python has no value for is its number."""
    try:
        return table.to_pylist()
    except (OverflowError, ValueError):
        columns = {name: [_value(one) for one in table[name]] for name in table.column_names}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _value(one: pa.Scalar) -> Any:
    try:
        return one.as_py()
    except (OverflowError, ValueError):
        return one.value if hasattr(one, "value") else one.cast(pa.int64()).as_py()


Order = Callable[[list[Row]], list[Row]]


def local(case: Case, asks: list[Ask], order: Order = list) -> Played:
    """In this process."""
    return _played(case, asks, [(_in_memory(case.settings), Life(1, None))], order)


def _in_memory(settings: Settings) -> Callable[[], ms.Engine]:
    return lambda: ms.Engine(host="local", ansi=settings.ansi, time_zone=settings.zone)


def on_disk(case: Case, asks: list[Ask], folder: Path) -> Played:
    """On the host of tasks and checkpoints, in the lives of the case."""
    lives = [(lambda p=life.partitions: engine_on_disk(folder, p, case.settings), life) for life in case.lives]
    return _played(case, asks, lives, list)


def on_spark(case: Case, asks: list[Ask], folder: Path, session: Any) -> Played:
    """On Spark, in one life."""
    own = session.newSession()
    own.conf.set("spark.sql.ansi.enabled", str(case.settings.ansi).lower())
    own.conf.set("spark.sql.session.timeZone", case.settings.zone)
    lives = [(lambda: ms.Engine(own, checkpoint=folder, partitions=2), Life(2, None))]
    return _played(case, asks, lives, list, 120)


def _played(
    case: Case,
    asks: list[Ask],
    lives: list[tuple[Callable[[], ms.Engine], Life]],
    order: Order,
    seconds: float = SECONDS,
) -> Played:
    keepers = [(Keeper(), Keeper(), Keeper()) for _ in asks]
    schemas: list[pa.Schema] = []
    try:
        for make, life in lives:
            with pulled(*life.crash) if life.crash else nullcontext(Plug(0)) as plug:
                try:
                    schemas = _life(case, asks, make(), life.epochs, order, keepers, seconds)
                except ms.RunError:
                    if not plug.pulled:
                        raise
    except ms.MillstreamError as error:
        return Played(refused=_reason(error))
    except FaultError:
        raise
    except Exception as error:
        raise FaultError(f"raw {type(error).__name__}: {error}") from error
    return Played([
        Left(a.rows, b.rows, c.rows, schema) for (a, b, c), schema in zip(keepers, schemas, strict=True)
    ])  # fmt: skip


def _life(
    case: Case,
    asks: list[Ask],
    engine: ms.Engine,
    upto: int | None,
    order: Order,
    keepers: list[tuple[Keeper, Keeper, Keeper]],
    seconds: float,
) -> list[pa.Schema]:
    streams: Streams = {
        one.name: engine.stream(one.name, one.source(upto, order), schema=one.declared, progress=one.progress)
        for one in case.feeds.values()
    }
    queries = [ask(engine, streams) for ask in asks]
    for i, (query, (rows, late, rejected)) in enumerate(zip(queries, keepers, strict=True)):
        query.named(f"q{i}").to(rows)
        query.late.to(late)
        query.rejected.to(rejected)
    run = engine.start(ms.available_now(), end_of_stream=upto is None, allow_unbounded=True)
    if not run.await_termination(seconds):
        raise FaultError(f"hangs: no end after {seconds} s")
    for name, one in run.progress["queries"].items():
        if one["books"]["unaccounted"]:
            raise FaultError(f"the books of {name} do not balance: {one['books']}")
    return [query.schema for query in queries]


def _reason(error: ms.MillstreamError) -> str:
    """Why it was refused; a refusal that hides a raw error, or gives no hint, is a fault."""
    cause: BaseException | None = error
    while cause is not None and isinstance(cause, ms.MillstreamError):
        error, cause = cause, cause.__cause__
    if cause is not None and type(error) is ms.RunError:
        raise FaultError(f"raw {type(cause).__name__}: {cause}") from cause
    if not error.hint:
        raise FaultError(f"a refusal without a hint: {error}") from error
    return f"{type(error).__name__}: {getattr(error, 'fact', error)}"
