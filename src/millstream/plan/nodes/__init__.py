"""The plan: immutable nodes that say what to compute. One file for each kind; what all of them are is in `base`."""

from millstream.plan.feedback.instrument import Instrument
from millstream.plan.nodes.aggregate import (
    STRATEGIES,
    Aggregate,
    AggregateColumn,
    is_sliding,
)
from millstream.plan.nodes.answers import Answers
from millstream.plan.nodes.as_of import AsOf
from millstream.plan.nodes.base import HoldsBack, Node, Passing, Table, Unary
from millstream.plan.nodes.compute import Compute
from millstream.plan.nodes.distinct import Distinct
from millstream.plan.nodes.enrich import Enrich
from millstream.plan.nodes.join import JOINS, Band, Join, SameWindow, near_of
from millstream.plan.nodes.many.join import ManyJoin, ManyKey
from millstream.plan.nodes.pace import Pace
from millstream.plan.nodes.pair import JoinColumn, TwoSided, sided
from millstream.plan.nodes.panes import Panes, Reading
from millstream.plan.nodes.project import Project
from millstream.plan.nodes.select import Select, Spare
from millstream.plan.nodes.shared_join import JoinReading, Matches, SharedJoin
from millstream.plan.nodes.sort import Sort
from millstream.plan.nodes.source import Source
from millstream.plan.nodes.top import Top
from millstream.plan.nodes.union import Union
from millstream.plan.nodes.walk import inputs, keeps_state, rebuilt, sources, swapped, tables, walk, with_inputs

__all__ = [
    "JOINS",
    "STRATEGIES",
    "Aggregate",
    "AggregateColumn",
    "Answers",
    "AsOf",
    "Band",
    "Compute",
    "Distinct",
    "Enrich",
    "HoldsBack",
    "Instrument",
    "Join",
    "JoinColumn",
    "JoinReading",
    "ManyJoin",
    "ManyKey",
    "Matches",
    "Node",
    "Pace",
    "Panes",
    "Passing",
    "Project",
    "Reading",
    "SameWindow",
    "Select",
    "SharedJoin",
    "Sort",
    "Source",
    "Spare",
    "Table",
    "Top",
    "TwoSided",
    "Unary",
    "Union",
    "inputs",
    "is_sliding",
    "keeps_state",
    "near_of",
    "rebuilt",
    "sided",
    "sources",
    "swapped",
    "tables",
    "walk",
    "with_inputs",
]
