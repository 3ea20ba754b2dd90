"""The side outputs: late rows with their punctuation, rejected rows with the reason, and results that are partial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.runtime.outcome import Outcome

LATE_COLUMNS = (("punctuation", pa.string()), ("epoch", pa.int64()))
REJECTED_COLUMNS = (("reason", pa.string()), ("raw", pa.string()), ("epoch", pa.int64()))


FLAG_COLUMNS = (("is_final", pa.bool_()), ("epoch", pa.int64()))


def flagged_schema(schema: pa.Schema) -> pa.Schema:
    """The columns of the results, then whether the row is final, and the epoch that it left in."""
    return pa.schema([*schema, *(pa.field(name + "_" * (name in schema.names), kind) for name, kind in FLAG_COLUMNS)])


def flagged(rows: pa.Table, epoch: int, *, final: bool) -> pa.Table:
    """Results with their flag.

    >>> flagged(pa.table({"n": [3]}), 7, final=False).to_pylist()
    [{'n': 3, 'is_final': False, 'epoch': 7}]
    """
    more = [
        pa.array([value] * rows.num_rows, kind) for value, (_, kind) in zip((final, epoch), FLAG_COLUMNS, strict=True)
    ]
    return pa.Table.from_arrays([*rows.columns, *more], schema=flagged_schema(rows.schema))


def late_schema(sources: Sequence[nodes.Source]) -> pa.Schema:
    """The columns of the streams, then the punctuation and the epoch."""
    return _extended(sources, LATE_COLUMNS)


def rejected_schema(sources: Sequence[nodes.Source]) -> pa.Schema:
    """The columns of the streams, then the reason, the text of what could not be read, and the epoch."""
    return _extended(sources, REJECTED_COLUMNS)


def late_table(root: nodes.Node, outcome: Outcome, epoch: int) -> pa.Table | None:
    """The late rows of every stream below `root` in an epoch, or None."""
    if not outcome.late:
        return None
    sources = nodes.sources(root)
    schema = late_schema(sources)
    width = len(schema) - len(LATE_COLUMNS)
    tables = [
        _with(one.rows, schema, width, [one.punctuation, epoch])
        for source in sources
        for one in outcome.late.get(id(source), [])
    ]
    return pa.concat_tables(tables) if tables else None


def rejected_table(root: nodes.Node, outcome: Outcome, epoch: int) -> pa.Table | None:
    """Everything that any node below `root` rejected in an epoch, or None.

    Rows that an operator inside the plan rejects have that operator's columns. Those that the streams lack are
    left out; if one has another type than the stream's column of its name, `raw` has the row as text. Of a pair or a
    result that could not be made it always has.
    """
    if not outcome.rejected and not outcome.unreadable:
        return None
    schema = rejected_schema(nodes.sources(root))
    width = len(schema) - len(REJECTED_COLUMNS)
    tables: list[pa.Table] = []
    for node in nodes.walk(root):
        tables += [
            _with(rows, schema, width, [one.reason, raw, epoch])
            for one in outcome.rejected.get(id(node), [])
            for rows, raw in _readable(one.rows, schema, whole=one.made)
        ]
        for raw, reason in outcome.unreadable.get(id(node), []):
            nothing = pa.Table.from_pylist([{}], schema=pa.schema(list(schema)[:width]))
            tables.append(_with(nothing, schema, width, [reason, raw, epoch]))
    return pa.concat_tables(tables) if tables else None


def _extended(sources: Sequence[nodes.Source], extra: Sequence[tuple[str, pa.DataType]]) -> pa.Schema:
    fields: dict[str, pa.Field] = {}
    for source in sources:
        for field in source.schema:
            fields.setdefault(field.name, field.with_nullable(True))  # noqa: FBT003 - pyarrow's own signature
    out = list(fields.values())
    for name, kind in extra:
        # A stream may have a column of that name; its own comes first, ours gets an underscore.
        out.append(pa.field(name + "_" if name in fields else name, kind))
    return pa.schema(out)


def _readable(rows: pa.Table, schema: pa.Schema, *, whole: bool) -> Iterator[tuple[pa.Table, str | None]]:
    """Rows whose columns have the streams' types; one whose columns have not, by itself and as text, as is `whole`."""
    other = [name for name in rows.schema.names if name in schema.names and not _fits(rows, schema, name)]
    if not other and not whole:
        yield rows, None
        return
    for i, row in enumerate(rows.to_pylist()):
        yield rows.slice(i, 1).drop_columns(other), str(row)


def _fits(rows: pa.Table, schema: pa.Schema, name: str) -> bool:
    try:
        rows[name].cast(schema.field(name).type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _with(rows: pa.Table, schema: pa.Schema, width: int, extra: Sequence[object]) -> pa.Table:
    n = rows.num_rows
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(n, field.type)
        for field in list(schema)[:width]
    ]
    columns += [pa.array([value] * n, field.type) for value, field in zip(extra, list(schema)[width:], strict=True)]
    return pa.Table.from_arrays(columns, schema=schema)
