"""A delay in FROM: progress declared where a stream is read, and not where it was made."""

from __future__ import annotations

from dataclasses import replace

from millstream.api.sql.blame import blame
from millstream.api.sql.catalog import Catalog
from millstream.api.stream import Stream
from millstream.core.errors import MillstreamError, SqlError
from millstream.core.generator import BoundedDisorder
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes
from millstream.sql.grammar.statements import Delay
from millstream.sql.projection import resolve
from millstream.sql.statement_expressions import Names


def promised(catalog: Catalog, stream: Stream, delay: Delay) -> Stream:
    """The stream with this promise: it has it already, or has none yet and nobody reads it without."""
    node = stream.node
    assert isinstance(node, nodes.Source)
    problems = []
    attribute = resolve(delay.attribute, Names(tuple(node.schema.names), (node.name,)), problems)
    if problems:
        raise SqlError(problems)
    try:
        bound = BoundedDisorder(attribute, delay.delay.value).bind(
            domain_of(node.schema.field(attribute).type, attribute)
        )
    except MillstreamError as error:
        raise SqlError([blame(delay.piece, error)]) from error
    if node.progress == bound:
        return stream
    if node.progress is not None:
        raise delay.piece.error(f"{node.name} makes another promise already", f"Leave {delay.word} out.")
    if any(node in nodes.sources(query.node) for query in catalog.queries.values()):
        raise delay.piece.error(
            f"{node.name} is read without a promise already", "Promise it where the stream is made: PROGRESS ON …"
        )
    made = replace(node, progress=bound)
    catalog.redeclare(made)
    return Stream(catalog.engine, made)
