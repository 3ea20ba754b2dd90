"""The folders that queries write to: each is one output's alone, and none is left unreadable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.core.errors import SinkError
from millstream.plan import nodes
from millstream.runtime.outputs.side import flagged_schema, late_schema, rejected_schema
from millstream.runtime.query import HostQuery
from millstream.runtime.sinks.folder import FolderSink
from millstream.runtime.sinks.owner import Owner, shown
from millstream.runtime.sinks.transactional import TransactionalSink
from millstream.runtime.sources.file_source import FileSource


def folders(query: HostQuery) -> list[FolderSink]:
    """The folders that a query writes to."""
    return [sink for _, sink in _outlets(query)]


def claim_folders(
    queries: Iterable[HostQuery],
    sources: Mapping[str, Any],
    checkpoint: str,
    formerly: Mapping[str, str] | None = None,
) -> None:
    """Make every folder the one of its output.

    Two outputs of one folder, one of somebody else's, and one that the query itself reads are refused. `formerly` are
    the names that queries had before this start, where they have changed.
    """
    queries = list(queries)
    seen: dict[Path, str] = {}
    for query in queries:
        for output, sink in _outlets(query):
            sink.check(schemas(query)[output])
            mine = _said(query, output)
            _refuse_shared(seen, sink.identity, str(sink.folder), mine)
            seen[sink.identity] = mine
            _refuse_loop(query, output, sink, sources)
        for output, sink in _transactional(query):
            if sink.identity is not None:
                _refuse_shared(seen, sink.identity, str(sink.identity), _said(query, output))
                seen[sink.identity] = _said(query, output)
    for query in queries:
        for output, sink in (*_outlets(query), *_transactional(query)):
            owner = Owner(checkpoint, query.name, output, (formerly or {}).get(query.name))
            if isinstance(sink, FolderSink):
                sink.claim(owner)
            else:
                sink.claim(owner, schemas(query)[output])


def _refuse_shared(seen: Mapping[Path, str], place: Path, named: str, mine: str) -> None:
    for path, whose in seen.items():
        if place == path or path in place.parents or place in path.parents:
            raise SinkError(
                f'"{named}" is the folder of two outputs, or lies in another\'s: {whose} and {mine}',
                hint="Give each output a folder of its own.",
            )


def _refuse_loop(query: HostQuery, output: str, sink: FolderSink, sources: Mapping[str, Any]) -> None:
    for stream in nodes.sources(query.node):
        source = sources.get(stream.name)
        if isinstance(source, FileSource) and source.would_read(sink.identity / f"part-0.{sink.suffix}"):
            raise SinkError(
                f'{_said(query, output)} would go to "{sink.folder}", where the stream {stream.name!r} that it '
                "reads would take them for new rows",
                hint="Give the output a folder that the stream does not read.",
            )


def finish(queries: Iterable[HostQuery]) -> None:
    """Leave every folder readable, with its columns at least."""
    for query in queries:
        for output, sink in _outlets(query):
            sink.finish(schemas(query)[output])


def schemas(query: HostQuery) -> dict[str, pa.Schema]:
    """The columns of each output."""
    streams = nodes.sources(query.node)
    late, rejected = late_schema(streams), rejected_schema(streams)
    partial = flagged_schema(query.node.schema)
    return {"results": query.node.schema, "late": late, "rejected": rejected, "partial": partial}


def _said(query: HostQuery, output: str) -> str:
    return f"{shown(output)} of {query.name!r}"


def _transactional(query: HostQuery) -> Iterator[tuple[str, TransactionalSink]]:
    for output, sinks in query.outputs().items():
        yield from ((output, sink) for sink in sinks if isinstance(sink, TransactionalSink))


def _outlets(query: HostQuery) -> Iterator[tuple[str, FolderSink]]:
    for output, sinks in query.outputs().items():
        yield from ((output, sink) for sink in sinks if isinstance(sink, FolderSink))
