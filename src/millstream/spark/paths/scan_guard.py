"""Guards in the scan: rows that all readers ignore are not read, where Spark can skip them in Parquet files.

The files of an epoch are scanned with a filter, which Spark pushes down. How many rows that leaves out, and how far
their times go, is in the footers of the files: so progress does not starve, and the books balance. Late and rejected
rows are always read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.core.domain import BOTTOM, END
from millstream.core.quote import quoted
from millstream.kernels.ticks import to_ticks
from millstream.plan import nodes
from millstream.runtime.batch import Unread
from millstream.runtime.sources.skipping import Skips
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.unread import of_streams
from millstream.spark.file_scan import Scan
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.guard_conditions import comparable, kept, literal


@dataclass(frozen=True)
class Footers:
    """What the footers of some files say of all their rows."""

    rows: int
    low: int
    high: int
    nulls: bool
    """May some have no time?"""


@dataclass(frozen=True)
class GuardedScan:
    """An epoch whose scan leaves rows out."""

    arrivals: SparkArrivals
    footers: Mapping[str, Footers]
    """Of the streams that are filtered."""

    def unread(self, program: Program, reports: Sequence[Report]) -> list[Report]:
        """What was not read, given the reports of what was."""
        out: dict[str, Unread] = {}
        for i, node in enumerate(program.nodes):
            if isinstance(node, nodes.Source) and node.name in self.footers:
                said = self.footers[node.name]
                came = sum(report.meters.get(i, {}).get("rows_in", 0) for report in reports)
                if said.rows > came:
                    out[node.name] = Unread(said.rows - came, said.high)
        return of_streams(program, out)


def guarded(program: Program, order: Order, arrivals: SparkArrivals) -> GuardedScan | None:
    """The same epoch with filters in its scan; None if nothing can be left unread."""
    if arrivals.frame is None or not order.guards:
        return None
    sources = {i: node for i, node in enumerate(program.nodes) if isinstance(node, nodes.Source)}
    found = {node.name: Skips.of(node, order.guards.get(i), order.judged[node.name]) for i, node in sources.items()}
    asked = {name: one for name, one in found.items() if one is not None}
    scan = arrivals.scan() if asked else None
    if scan is None:
        return None
    footers: dict[str, Footers] = {}
    filters: dict[str, str] = {}
    for name, skips in asked.items():
        schema = arrivals.tags.schemas.get(name)
        conditions = [] if schema is None else kept(skips.records, schema)
        if schema is None or not conditions or not comparable(schema.field(skips.attribute).type):
            continue
        said = _footers(scan, name, skips.attribute, schema)
        if said is not None:
            footers[name], filters[name] = said, _filter(conditions, skips, schema, said)
    if not filters:
        return None
    frame = scan.frame(filters)
    return GuardedScan(replace(arrivals, frame=frame, again=lambda: frame), footers)


def _filter(conditions: Sequence[str], skips: Skips, schema: pa.Schema, said: Footers) -> str:
    """What is read. Where the footers leave it open, also rows that are late or have no time."""
    text, time = " AND ".join(conditions), quoted(skips.attribute)
    spared = [f"{time} IS NULL"] if said.nulls else []
    if said.low < skips.bound:  # written only if it is needed: Spark compiles anew for every other bound
        spared.append(f"{time} < {literal(skips.bound, schema.field(skips.attribute).type)}")
    return " OR ".join([*spared, f"({text})"])


def _footers(scan: Scan, name: str, attribute: str, schema: pa.Schema) -> Footers | None:
    """Of all files of a stream in an epoch; None if some cannot be read here, or say nothing of its times."""
    rows, low, high, nulls = 0, END, BOTTOM, False
    for path in scan.parquet(name):
        found = _footer(path, attribute, schema.field(attribute).type)
        if found is None:
            return None
        rows, nulls = rows + found.rows, nulls or found.nulls
        low, high = min(low, found.low), max(high, found.high)
    return Footers(rows, low, high, nulls) if rows and BOTTOM < low <= high < END else None


def _footer(path: str, attribute: str, kind: pa.DataType) -> Footers | None:
    place = urlparse(path)
    if place.scheme not in ("", "file"):
        return None
    try:
        footer = pq.read_metadata(Path(path.removeprefix("file://").removeprefix("file:")))
    except (OSError, pa.ArrowException):
        return None
    low, high, nulls = END, BOTTOM, False
    for i in range(footer.num_row_groups):
        part = footer.row_group(i)
        column = next((c for j in range(part.num_columns) if (c := part.column(j)).path_in_schema == attribute), None)
        said = None if column is None else column.statistics
        if said is None or not said.has_min_max:
            return None
        try:
            ends = to_ticks(pa.array([said.min, said.max]).cast(kind)).tolist()
        except (pa.ArrowException, ValueError):
            return None
        low, high = min(low, ends[0]), max(high, ends[1])
        nulls = nulls or not said.has_null_count or said.null_count > 0
    return Footers(footer.num_rows, low, high, nulls)
