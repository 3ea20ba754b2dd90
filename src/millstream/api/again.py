"""Declared again: a cell of a notebook that runs twice says the same twice, and that is no mistake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.core.fingerprint import fingerprint
from millstream.plan import nodes
from millstream.runtime.tasks.program import plan_text

if TYPE_CHECKING:
    from millstream.api.query import Query

_LONGEST = 100_000  # rows that are compared, one by one


def stream_differences(before: nodes.Source, now: nodes.Source, *, same_source: bool, same_promise: bool) -> list[str]:
    """What a stream is declared with that it was not declared with before."""
    out: list[str] = []
    if not same_source:
        out.append("another source")
    if before.schema != now.schema:
        out.append(f"other columns ({_columns(before.schema)}, and now {_columns(now.schema)})")
    if not same_promise:
        out.append(f"another promise ({_promise(before)}, and now {_promise(now)})")
    return out


def query_differences(before: Query, now: Query) -> list[str]:
    """What a query asks for that the one of its name does not."""
    one, other = plan_text(before.node).splitlines(), plan_text(now.node).splitlines()
    # What describes two plans alike may still read two streams.
    alike = one == other and {id(node) for node in _leaves(before)} == {id(node) for node in _leaves(now)}
    if not alike:
        had, has = (next((line for line in a if line not in b), a[0]) for a, b in ((one, other), (other, one)))
        return [f"another plan ({had.strip(' └├─│')}, and now {has.strip(' └├─│')})"]
    sides = zip(before.sides, now.sides, strict=True)
    pairs = [("sinks", before, now), *((f"{was.word} sinks", was, new) for was, new in sides)]
    return [f"other {what}" for what, a, b in pairs if b.sinks and not _same_sinks(a.sinks, b.sinks)]


def same_source(before: Any, now: Any) -> bool:
    """Would both give the same rows? Only what can be compared without reading it is the same.

    >>> same_source("in/bids", Path("in/bids")), same_source([{"x": 1}], [{"x": 1}]), same_source(iter(()), iter(()))
    (True, True, False)
    """
    if before is now:
        return True
    match before, now:
        case (str() | Path(), str() | Path()):
            return Path(before) == Path(now)
        case (pa.Table(), pa.Table()):
            return before.num_rows <= _LONGEST and before.equals(now)
        case (list() | tuple(), list() | tuple()):
            return _same_items(before, now)
        case (Mapping(), Mapping()):
            return bool(before == now)
        case _ if hasattr(before, "sameSemantics") and hasattr(now, "sameSemantics"):  # a data frame of Spark
            return bool(before.sameSemantics(now))
        case _:
            return callable(before) and callable(now) and fingerprint(before) == fingerprint(now)


def _same_items(before: Sequence[Any], now: Sequence[Any]) -> bool:
    if len(before) != len(now) or len(before) > _LONGEST:
        return False
    return all(same_source(a, b) for a, b in zip(before, now, strict=True))


def _same_sinks(before: Sequence[Any], now: Sequence[Any]) -> bool:
    return len(before) == len(now) and all(_same_sink(a, b) for a, b in zip(before, now, strict=True))


def _same_sink(before: Any, now: Any) -> bool:
    if type(before) is not type(now):
        return False
    if type(before).__name__ == "MemorySink":
        return True  # what it has kept is what the same query would have kept
    mine, other = (vars(one) if hasattr(one, "__dict__") else {} for one in (before, now))
    return before is now or (
        mine.keys() == other.keys() and all(_same_value(mine[name], other[name]) for name in mine) and bool(mine)
    )


def _same_value(before: Any, now: Any) -> bool:
    if callable(before) and callable(now):
        return before is now or fingerprint(before) == fingerprint(now)
    return bool(before == now)


def _leaves(query: Query) -> list[nodes.Source | nodes.Table]:
    return [*nodes.sources(query.node), *nodes.tables(query.node)]


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def _promise(node: nodes.Source) -> str:
    return "none" if node.progress is None else node.describe()[0].partition(": ")[2]
