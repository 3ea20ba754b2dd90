"""The steps of a ring in tasks: rows and partial combinations come as parcels, and go on as parcels to all partitions.

The last step is the stop itself: what is found leaves, new rows are kept where they belong, and progress lets rows go.
Steps before it change no state, so that each opens what the last epoch left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from millstream.ops.many.join import FANS, ManyJoin
from millstream.ops.many.join_order import Fans
from millstream.ops.many.keyed_runs import KeyedRun, hashed
from millstream.ops.many.probe import Bound, Probe
from millstream.ops.many.ring import RingStep, block
from millstream.plan import nodes
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Parcel, pack_facts, pack_table, unpack_facts, unpack_table
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.route import kept_at

_PARTIAL = "partial"


class RingStop:
    """A ring at one place in one step of an epoch."""

    def __init__(
        self, program: Program, order: Order, i: int, partition: int, operator: ManyJoin, parcels: Sequence[Parcel]
    ) -> None:
        """`operator` has opened its state; `parcels` are what came."""
        self.i, self.partition, self.partitions = i, partition, program.partitions
        self.operator = operator
        operator.elsewhere = _known(order, i)
        self.came = {port: self._rows(parcels, port, "rows") for port in range(operator.spec.streams)}
        node = program.nodes[i]
        assert isinstance(node, nodes.ManyJoin)
        width = block(node.longest or 0, self.partitions, operator.elsewhere)
        self.homely = {
            port: rows.filter(pa.array(kept_at(node, port, rows, width, self.partitions) == partition))
            for port, rows in self.came.items()
            if rows is not None
        }
        self.partials = {port: self._rows(parcels, port, _PARTIAL) for port in range(operator.spec.streams)}
        for parcel in parcels:
            if parcel.kind == "facts":
                operator.fans = Fans.of([operator.fans.plain(), unpack_facts(parcel.blob)])

    @staticmethod
    def _rows(parcels: Sequence[Parcel], port: int, kind: str) -> pa.Table | None:
        tables = [unpack_table(one.blob) for one in parcels if one.kind == kind and one.port == port]
        return pa.concat_tables(tables) if tables else None

    def fresh(self, scratch: ManyJoin) -> dict[int, KeyedRun]:
        """By port: the new rows that are kept here; what is wrong with the others is `scratch`'s to say."""
        out: dict[int, KeyedRun] = {}
        for port, rows in self.homely.items():
            good, at, _ = scratch.entering(port, rows)
            out[port] = KeyedRun.of(good, hashed(scratch.spec, port, good), at)
        return out

    def going_on(self, scratch: ManyJoin, step: int) -> Iterator[Parcel]:
        """What a step that is not the last finds, for all places; and the rows themselves, for their homes."""
        ring = RingStep(self.operator, self.fresh(scratch))
        for port in range(self.operator.spec.streams):
            for probe, bound in self._begun(ring, scratch, port, step):
                for found in ring.steps(port, (probe, bound), step):
                    blob = pack_table(ring.table(probe, found))
                    for place in range(self.partitions):
                        yield Parcel(place, self.i, port, _PARTIAL, blob)
        for port, rows in self.homely.items():
            yield Parcel(self.partition, self.i, port, "rows", pack_table(rows))
        if self.operator.fans.counts:
            yield Parcel(self.partition, self.i, 0, "facts", pack_facts(self.operator.fans.plain()))

    def ending(self, step: int, scratch: ManyJoin) -> Iterator[pa.Table]:
        """What the last step finds; new rows are kept."""
        operator = self.operator
        ring = RingStep(operator, self.fresh(operator))
        for port in range(operator.spec.streams):
            for probe, bound in self._begun(ring, scratch, port, step):
                for found in ring.steps(port, (probe, bound), step):
                    yield from operator.leaving(probe, found)
        for port, rows in self.homely.items():
            operator.meter.rows_in += rows.num_rows
            operator.settle(port, ring.fresh[port])

    def _begun(self, ring: RingStep, scratch: ManyJoin, port: int, step: int) -> Iterator[tuple[Probe, Bound]]:
        """What looks for partners in a step: the new rows in the first, and partial combinations in the others."""
        if step == 0:
            rows = self.came[port]
            if rows is not None and (good := scratch.entering(port, rows)[0]).num_rows:
                yield ring.rows(port, good)
        elif (found := self.partials[port]) is not None:
            yield ring.partial(port, found)


def _known(order: Order, i: int) -> Fans:
    """What earlier epochs have shown at all places."""
    return Fans.of([facts.get(0, {}).get(FANS, {}) for (node, _), facts in sorted(order.facts.items()) if node == i])
