"""Rows that a shared join kept for other readings, in the form that the present ones read.

A store's rows have the columns, conditions and marks of those who read it when they were written. When readings come
and go, rows are brought into the new form as they are opened: nothing is written for the change itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.expression import Expression
from millstream.kernels.expressions.evaluate import evaluate
from millstream.ops.join.held import HASH, SIDES, Held, of_side, opened
from millstream.ops.join.join_spec import Layout
from millstream.ops.join.route_pairs import BITS
from millstream.ops.join.shared_spec import SharedSpec
from millstream.state.store import Segment, Store

LONE = "lone"
"""A fact: rows were kept by a join by itself, and have its names. See `lone_facts`."""
_WIDTHS = (np.uint8, np.uint16, np.uint32, np.uint64)


def lone_facts(number: int, views: Sequence[Sequence[tuple[str, str]]], bits: Sequence[str]) -> dict[str, Any]:
    """What a store must know of rows that a join kept by itself.

    Its number from now on; by side the columns as it knew them, each with the name that the store has for it; and the
    condition that all its rows satisfy, or "".
    """
    return {LONE: {"number": number, "views": [dict(view) for view in views], "bits": list(bits)}}


def own_names(facts: dict[str, Any]) -> list[dict[str, str]]:
    """By side: the names that a join by itself has for columns, with those of the store; they are used up by this."""
    lone = facts.get(LONE)
    if lone is None:
        return []
    facts[LONE] = {**lone, "views": [{}, {}]}
    return lone["views"]


def take_over(store: Store, layout: Layout) -> None:
    """Bring rows that a join kept by itself into the form of a shared store with that join as its only reading."""
    lone = store.facts.pop(LONE, None)
    if lone is None:
        return
    for side, name in enumerate(SIDES):
        bit = lone["bits"][side]
        for place, segment in list(of_side(store, side)):
            rows = renamed(segment.tables[name], lone["views"][side])
            marks = opened(Segment({**segment.tables, name: rows}, segment.low, segment.high), side, layout).matched
            if bit:
                rows = rows.append_column(BITS, pa.array(np.ones(rows.num_rows, dtype=np.uint8)))
            held = Held.of_rows(
                rows,
                layout.hashes(side, rows),
                layout.at(side, rows),
                None if marks is None else marks.reshape(-1, 1),
                None if marks is None else (lone["number"],),
            )
            store.segments[place] = held.segment(side, layout)
        store.facts[name] = [bit] if bit else []


def renamed(rows: pa.Table, names: Mapping[str, str]) -> pa.Table:
    """Rows under the names that a store has for their columns; hashes go, as they depend on the order of keys."""
    kept = [name for name in rows.column_names if name != HASH]
    return rows.select(kept).rename_columns([names.get(name, name) for name in kept])


def brought(segment: Segment, side: int, spec: SharedSpec, before: Sequence[str]) -> Segment:
    """A segment with the columns, conditions and marks that are read now; `before` are the conditions that it has.

    A condition that nobody had asked for is computed now if the columns are there. What is missing is null, or false:
    readings that need it begin with later rows.
    """
    mine, schema = spec.predicates[side], spec.schemas[side]
    rows = segment.tables[SIDES[side]]
    names = [*schema.names, *([BITS] if mine else ()), *([HASH] if HASH in rows.column_names else ())]
    marks = spec.numbers[side]
    held_marks = segment.tables.get("matched")
    of = () if held_marks is None else tuple(held_marks["of"][0].as_py())
    if set(names) == set(rows.column_names) and list(before) == list(mine) and of == marks:
        return segment
    held = opened(segment, side, spec.layout)
    if list(before) != list(mine):
        bits = [_bit(rows, one, before, spec.conditions[side]) for one in mine]
        rows = rows.drop_columns([BITS]) if BITS in rows.column_names else rows
        if mine:
            rows = rows.append_column(BITS, pa.array(packed(bits, rows.num_rows)))
    for name in schema.names:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(rows.num_rows, schema.field(name).type))
    matched = None
    if marks:
        matched = np.zeros((rows.num_rows, len(marks)), dtype=np.bool_)
        for i, number in enumerate(marks):
            if held.matched is not None and number in of:
                matched[:, i] = held.matched[:, of.index(number)]
    return Held(rows.select(names), held.run, matched, marks or None).segment(side, spec.layout)


def _bit(rows: pa.Table, name: str, before: Sequence[str], conditions: Mapping[str, Expression]) -> np.ndarray:
    """Which rows satisfy a condition."""
    if name in before:
        old = rows[BITS].combine_chunks().to_numpy()
        return np.asarray((old >> old.dtype.type(before.index(name))) & old.dtype.type(1), dtype=np.bool_)
    condition = conditions.get(name)
    if condition is None or not set(condition.columns) <= set(rows.column_names):
        return np.zeros(len(rows), dtype=np.bool_)
    made = evaluate([condition], rows)
    return np.asarray(pc.fill_null(made.values[0], pa.scalar(value=False)), dtype=np.bool_)


def packed(held: Sequence[np.ndarray], rows: int) -> np.ndarray:
    """Conditions as bits, in as few bytes as they need."""
    width = next(one for one in _WIDTHS if len(held) <= 8 * one().nbytes)
    bits = np.zeros(rows, dtype=width)
    for i, one in enumerate(held):
        bits |= one.astype(width) << width(i)
    return bits
