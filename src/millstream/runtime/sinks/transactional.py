"""Sinks that note, with the rows of a step, that they have them: rows that are handed over again are passed over."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from millstream.core.errors import SinkError, nearest
from millstream.runtime.sinks.folder import MODES
from millstream.runtime.sinks.owner import Owner, shown

FIRST = 0
"""The number of an output that has no rows yet: the table is claimed. Step n is number n + 1."""


class TransactionalSink(ABC):
    """A sink outside the checkpoint that is exactly-once: each step is one transaction that has the step's number.

    A kill between a commit and its delivery has the rows delivered again; the sink knows that it has them.
    """

    identity: Path | None
    """Where it is, if that is a folder of this machine: no other output may write there."""

    @abstractmethod
    def claim(self, owner: Owner, schema: pa.Schema) -> None:
        """Write for this owner from now on, rows of this schema; refuse what is somebody else's, as the user said."""

    @abstractmethod
    def write(self, rows: pa.Table, epoch: int) -> None:
        """Take the rows of a step, unless it has them."""

    @abstractmethod
    def close(self) -> None:
        """The run is over; if the engine is started again, more may come."""


def one_of_modes(mode: str) -> str:
    """What to do with somebody else's table, if it is one of the modes."""
    if mode not in MODES:
        raise SinkError(f"there is no mode {mode!r}", hint=nearest(mode, MODES))
    return mode


def known_columns(option: str, names: Sequence[str], schema: pa.Schema) -> None:
    """Refuse an option that names a column which the rows lack."""
    for name in names:
        if name not in schema.names:
            raise SinkError(f"{option} names the unknown column {name!r}", hint=nearest(name, schema.names))


def listed(columns: Sequence[str] | str) -> list[str]:
    """One column, or several.

    >>> listed("k"), listed(("a", "b"))
    (['k'], ['a', 'b'])
    """
    return [columns] if isinstance(columns, str) else list(columns)


def names_of(owner: Owner) -> tuple[str, ...]:
    """What an output is called where its steps are noted; the name that it had before comes last."""
    queries = (owner.query,) if owner.formerly is None else (owner.query, owner.formerly)
    return tuple(f"millstream/{owner.checkpoint}/{query}/{owner.output}" for query in queries)


def not_yours(table: str, owner: Owner) -> SinkError:
    """Somebody else has written to a table."""
    return SinkError(
        f"{table} is not that of {shown(owner.output)} of {owner.query!r} and this checkpoint",
        hint='Choose another one, or say what to do: mode="append" or mode="replace".',
    )


def library(what: str, extra: str, *modules: str) -> ModuleType:
    """The library of a sink, asked for only by those who have such a sink."""
    try:
        first, *_ = [importlib.import_module(name) for name in modules]
    except ImportError as error:
        raise SinkError(f"{what} a library: {error}", hint=f"Install millstream[{extra}].") from error
    return first
