"""Where rows enter, on every host: unreadable text and marks are taken out, and the stream's ingest judges the rest."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from millstream.ops.ingest import Ingest
from millstream.plan import nodes
from millstream.runtime.outcome import Outcome
from millstream.runtime.punctuate import UserPunctuation, split_marked


def admit(
    node: nodes.Source, ingest: Ingest, rows: pa.Table, unreadable: Sequence[tuple[str, str]], out: Outcome
) -> tuple[pa.Table, list[UserPunctuation]]:
    """The rows of data, for the ingest to take, and the punctuations among the rows.

    `unreadable` is text that could not be read as rows, with the reason. What is rejected here is in the outcome and
    on the ingest's meter.
    """
    if unreadable:
        out.unreadable.setdefault(id(node), []).extend(unreadable)
        _count(ingest, len(unreadable))
    data, marked, bad = split_marked(rows, node, ingest.progress[0])
    if bad:
        out.rejected.setdefault(id(node), []).extend(bad)
        _count(ingest, sum(one.rows.num_rows for one in bad))
    return data, marked


def _count(ingest: Ingest, rejected: int) -> None:
    ingest.meter.rows_in += rejected
    ingest.meter.rejected += rejected
