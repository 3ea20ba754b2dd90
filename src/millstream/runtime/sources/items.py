"""What an iterable or a callable may hand over as one epoch, and how it is read.

An item is an Arrow table, anything Arrow can read as one, a list of dicts, one dict, or an `Epoch` of those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.runtime.batch import Batch
from millstream.runtime.epoch_input import Epoch
from millstream.runtime.sources.conform import as_table, conform, own_schema
from millstream.runtime.sources.dicts import infer, read_dicts


def as_epoch(item: Any, where: str) -> Epoch:
    """The item as an epoch whose rows are a table or a list; `where` names it in errors.

    Done once, before anybody looks: an Arrow stream can be read only once.
    """
    epoch = item if isinstance(item, Epoch) else Epoch(item)
    rows = epoch.rows
    if not isinstance(epoch.punctuations, list | tuple):
        raise SourceError(
            f"the punctuations of {where} are {type(epoch.punctuations).__name__}, not a list",
            hint='Write Epoch(rows, [ms.punctuation("ts", before=15)]).',
        )
    if isinstance(rows, Mapping):
        return Epoch([rows], epoch.punctuations)
    if isinstance(rows, list | tuple):
        return Epoch(rows, epoch.punctuations)
    if (table := as_table(rows)) is not None:
        return Epoch(table, epoch.punctuations)
    raise SourceError(
        f"{where} is {type(rows).__name__}, which holds no rows",
        hint="Give a pyarrow table, a list of dicts, or an Epoch(rows, punctuations) of either.",
    )


def schema_of(epoch: Epoch) -> pa.Schema | None:
    """The schema its rows show, or None if it has no rows to show one."""
    if isinstance(epoch.rows, list | tuple):
        return infer(epoch.rows)
    return own_schema(epoch.rows.schema)


def read_epoch(epoch: Epoch, schema: pa.Schema, where: str) -> Batch:
    """The epoch as a batch of `schema`; `where` names it in errors and reasons.

    >>> read_epoch(as_epoch({"x": 1}, "epoch 0"), pa.schema([("x", pa.int8())]), "epoch 0").rows.to_pylist()
    [{'x': 1}]
    """
    if isinstance(epoch.rows, list | tuple):
        batch = read_dicts(epoch.rows, schema, where)
    else:
        batch = conform(epoch.rows, schema, where)
    return Batch(batch.rows, batch.unreadable, epoch.punctuations)
