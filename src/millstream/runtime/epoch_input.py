"""What a caller supplies for one epoch when rows alone do not say it: rows, then punctuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Epoch:
    """Rows, and the punctuations that hold once they are in.

    An iterable or a callable given as a source may hand over an `Epoch` in place of a table.

    >>> Epoch([{"ts": 3}, {"ts": 1}], punctuations=[{"ts": 5}]).punctuations
    [{'ts': 5}]
    """

    rows: Any
    """An Arrow table, anything Arrow can read as one, or a list of dicts. It may be empty."""
    punctuations: Sequence[Mapping[str, Any] | Any] = ()
    """Handed on untouched; the stream binds them to its schema."""
