"""From a node of the plan to the operator that computes it."""

from __future__ import annotations

from millstream.core.promise.windows import WindowShape
from millstream.kernels.ticks import ordered_columns
from millstream.ops.as_of import AsOf, AsOfSpec
from millstream.ops.compute import Compute
from millstream.ops.distinct import Distinct
from millstream.ops.enrich import Enrich, EnrichSpec
from millstream.ops.feedback.instrument import Instrument
from millstream.ops.ingest import Ingest
from millstream.ops.join.join import Join
from millstream.ops.join.matches import Matches
from millstream.ops.join.shared import SharedJoin
from millstream.ops.many.counted import CountedJoin
from millstream.ops.many.join import ManyJoin
from millstream.ops.operator import Operator
from millstream.ops.pace import Pace
from millstream.ops.panes.answers import Answers
from millstream.ops.panes.store import PaneStore
from millstream.ops.project import Project
from millstream.ops.select import Select
from millstream.ops.sort import Sort
from millstream.ops.top import Top
from millstream.ops.union import Union
from millstream.plan import nodes
from millstream.runtime.compile.join_specs import join_spec, shared_spec
from millstream.runtime.compile.many_specs import many_spec
from millstream.runtime.compile.operator_registry import Note, make_operator, make_window_operator, operator_of
from millstream.runtime.compile.store_specs import store_spec
from millstream.runtime.compile.window_kinds import spec_of


def compile_node(node: nodes.Node, note: Note) -> Operator:
    """A fresh operator for one node; its inputs are somebody else's concern."""
    return make_operator(node, note)


@operator_of(nodes.Source)
def _source(node: nodes.Source, _: Note) -> Operator:
    return Ingest(node.progress, dict(node.domains))


@operator_of(nodes.Select)
def _select(node: nodes.Select, _: Note) -> Operator:
    return Select(node.condition, node.spare and (node.spare.attribute, node.spare.reach))


@operator_of(nodes.Project)
def _project(node: nodes.Project, _: Note) -> Operator:
    return Project(node.columns, node.extremes())


@operator_of(nodes.Union)
def _union(node: nodes.Union, _: Note) -> Operator:
    return Union(len(node.inputs), node.schema)


@operator_of(nodes.Pace)
def _pace(node: nodes.Pace, _: Note) -> Operator:
    return Pace(len(node.inputs), node.schema, node.attribute, node.within, node.headroom)


@operator_of(nodes.Instrument)
def _instrument(node: nodes.Instrument, _: Note) -> Operator:
    return Instrument(node.every, node.told, node.on, once=node.once)


@operator_of(nodes.Compute)
def _compute(node: nodes.Compute, _: Note) -> Operator:
    return Compute(node.function, node.made, node.attribute, node.rows, node.schema)


@operator_of(nodes.Distinct)
def _distinct(node: nodes.Distinct, _: Note) -> Operator:
    return Distinct(node.columns, ordered_columns(node.schema), forgets=node.forgets)


@operator_of(nodes.Sort)
def _sort(node: nodes.Sort, _: Note) -> Operator:
    return Sort(node.attribute)


@operator_of(nodes.Top)
def _top(node: nodes.Top, _: Note) -> Operator:
    return Top(node.keys, ordered_columns(node.input.schema), node.order, node.limit, node.number)


@operator_of(nodes.Aggregate)
def _aggregate(node: nodes.Aggregate, note: Note) -> Operator:
    return make_window_operator(node, spec_of(node), note)


@operator_of(nodes.Panes)
def _panes(node: nodes.Panes, _: Note) -> Operator:
    return PaneStore(store_spec(node))


@operator_of(nodes.Answers)
def _answers(node: nodes.Answers, _: Note) -> Operator:
    return Answers(WindowShape(node.of.attribute, node.of.groups, node.of.windows))


@operator_of(nodes.Join)
def _join(node: nodes.Join, _: Note) -> Operator:
    return Join(join_spec(node))


@operator_of(nodes.SharedJoin)
def _shared_join(node: nodes.SharedJoin, _: Note) -> Operator:
    return SharedJoin(shared_spec(node))


@operator_of(nodes.Matches)
def _matches(node: nodes.Matches, _: Note) -> Operator:
    return Matches(join_spec(node.reading.join).shape)


@operator_of(nodes.ManyJoin)
def _many_join(node: nodes.ManyJoin, _: Note) -> Operator:
    return ManyJoin(many_spec(node)) if node.rows is None else CountedJoin(many_spec(node))


@operator_of(nodes.AsOf)
def _as_of(node: nodes.AsOf, _: Note) -> Operator:
    return AsOf(as_of_spec(node))


@operator_of(nodes.Enrich)
def _enrich(node: nodes.Enrich, _: Note) -> Operator:
    return Enrich(enrich_spec(node))


def as_of_spec(node: nodes.AsOf) -> AsOfSpec:
    """The node bound to the columns of its sides."""
    return AsOfSpec(
        keys=node.keys,
        time=node.time,
        columns=tuple(nodes.sided(node.columns)),
        schemas=(node.inputs[0].schema, node.inputs[1].schema),
        schema=node.schema,
        outer=node.how == "left",
        strict=node.strict,
        within=node.within,
    )


def enrich_spec(node: nodes.Enrich) -> EnrichSpec:
    """The node bound to the columns of the stream and of the table."""
    return EnrichSpec(
        table=node.table.name,
        keys=node.keys,
        condition=node.condition,
        columns=tuple(nodes.sided(node.columns)),
        schema=node.schema,
        outer=node.how == "left",
    )
