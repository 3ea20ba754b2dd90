"""The form of a part's segments: readers come and go, and what was written for others is brought into today's form."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Algebra, Holistic
from millstream.kernels.partials import KEY, TIMES, Bound, Bundle, Partials
from millstream.state.store import Segment

_FORM = b"millstream.form"


@dataclass(frozen=True, slots=True)
class PaneForm:
    """Panes of one length, and which partials a segment has, in order."""

    base: int
    pane: int
    partials: tuple[str, ...]


def marked(segment: Segment, form: PaneForm) -> Segment:
    """The segment, which says what its form is."""
    fixed = segment.tables["fixed"].replace_schema_metadata({_FORM: json.dumps(asdict(form)).encode()})
    return Segment({**segment.tables, "fixed": fixed}, segment.low, segment.high)


def form_of(segment: Segment) -> PaneForm | None:
    """What a segment says of its form; None if nothing."""
    said: dict[bytes, bytes] = segment.tables["fixed"].schema.metadata or {}
    if _FORM not in said:
        return None
    plain = json.loads(said[_FORM])
    return PaneForm(plain["base"], plain["pane"], tuple(plain["partials"]))


def converted(bundle: Bundle, was: PaneForm, now: PaneForm, partials: Partials, rows: pa.Schema) -> Bundle:
    """The same panes in another form; `rows` are the columns that are reduced. What was not kept is as of no rows.

    A pane that was longer becomes the first of the panes that it was: windows that take it whole are right, and those
    that would cut it are not answered (see `Reading.since`).
    """
    fixed = bundle.fixed
    columns = {KEY: pa.array(_rekeyed(fixed[KEY].to_numpy(), was, now))}
    columns |= {name: fixed[name] for name in fixed.column_names if not name.startswith("__ms_a") and name != KEY}
    place = {name: i for i, name in enumerate(was.partials)}
    bags: dict[int, pa.Table] = {}
    for i, (one, name) in enumerate(zip(partials.aggregates, now.partials, strict=True)):
        had = place.get(name)
        if isinstance(one.kernel, Holistic):
            bag = None if had is None else bundle.bags[had]
            bags[i] = _no_values(one.kernel, fixed, partials.groups) if bag is None else _moved(bag, was, now)
        elif had is not None:
            own = [column for column in fixed.column_names if column.startswith(f"__ms_a{had}.")]
            columns |= {f"__ms_a{i}.{j}": fixed[column] for j, column in enumerate(own)}
        else:
            columns |= {f"__ms_a{i}.{j}": c for j, c in enumerate(_no_rows(one, one.kernel, rows, fixed.num_rows))}
    return Bundle(pa.table(columns), bags)


def _rekeyed(key: np.ndarray, was: PaneForm, now: PaneForm) -> np.ndarray:
    return (was.base + key * was.pane - now.base) // now.pane


def _moved(bag: pa.Table, was: PaneForm, now: PaneForm) -> pa.Table:
    return bag.set_column(bag.schema.get_field_index(KEY), KEY, pa.array(_rekeyed(bag[KEY].to_numpy(), was, now)))


def _no_rows(one: Bound, kernel: Algebra, schema: pa.Schema, n: int) -> list[pa.Array]:
    """The partials of cells that no row fell in."""
    nothing = [pa.array([], schema.field(name).type) for name in one.arguments] or [pa.array([], pa.int64())]
    return kernel.close(kernel.gather(nothing, np.empty(0, dtype=np.int64), n))


def _no_values(kernel: Holistic, fixed: pa.Table, groups: tuple[str, ...]) -> pa.Table:
    fields = [pa.field(KEY, pa.int64()), *(fixed.schema.field(name) for name in groups)]
    fields += [pa.field(f"v{j}", kind) for j, kind in enumerate(kernel.value_types)]
    return pa.schema([*fields, pa.field(TIMES, pa.int64())]).empty_table()
