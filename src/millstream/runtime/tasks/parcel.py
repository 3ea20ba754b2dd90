"""Parcels: rows or segments on their way to a stop in another partition, and reports on their way to the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.state.codec import plain, restore

ORDER = "__ms_order"
"""The place of a row in the order of arrival, for stops that need it."""

SCHEMA = pa.schema(
    [
        pa.field("partition", pa.int32()),
        pa.field("node", pa.int32()),
        pa.field("port", pa.int32()),
        pa.field("kind", pa.string()),
        pa.field("blob", pa.binary()),
    ]
)
"""What travels through a shuffle."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something for a stop: `rows`, a `segment` or `facts`; or a `report` for the driver."""

    partition: int
    node: int
    port: int
    kind: str
    blob: bytes


@dataclass(slots=True)
class Report:
    """What a task tells the driver."""

    meters: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    staged: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    segments: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    facts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    rows: dict[str, int] = field(default_factory=dict[str, int])
    partials: int = 0
    """How many partials came in, where rows were reduced before."""
    failed: int = 0
    """For how many rows an expression failed there: the epoch must be taken in another way, which says why."""

    def pack(self) -> bytes:
        """As JSON."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(plain(fields)).encode()

    @classmethod
    def unpack(cls, blob: bytes) -> Report:
        """From JSON."""
        return cls(**restore(json.loads(blob)))


def pack_table(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack_table(blob: bytes | pa.Buffer) -> pa.Table:
    """A table from an Arrow stream."""
    return pa.ipc.open_stream(blob).read_all()


def pack_tables(tables: Mapping[str, pa.Table]) -> bytes:
    """Named tables as one blob.

    >>> unpack_tables(pack_tables({"fixed": pa.table({"x": [1]})}))["fixed"]["x"].to_pylist()
    [1]
    """
    blobs = pa.array([pack_table(table) for table in tables.values()], pa.large_binary())
    return pack_table(pa.table({"name": list(tables), "blob": blobs}))


def unpack_tables(blob: bytes) -> dict[str, pa.Table]:
    """Named tables from one blob."""
    outer = unpack_table(blob)
    names = outer["name"].to_pylist()
    return {name: unpack_table(one.as_buffer()) for name, one in zip(names, outer["blob"], strict=True)}


def pack_facts(facts: Mapping[str, Any]) -> bytes:
    """Facts as JSON."""
    return json.dumps(plain(dict(facts))).encode()


def unpack_facts(blob: bytes) -> dict[str, Any]:
    """Facts from JSON."""
    return restore(json.loads(blob))


def to_batch(parcels: list[Parcel]) -> pa.RecordBatch:
    """Parcels as a record batch, for a shuffle."""
    columns = [[getattr(one, name) for one in parcels] for name in SCHEMA.names]
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> list[Parcel]:
    """Parcels from a record batch."""
    return [Parcel(**row) for row in batch.to_pylist()]
