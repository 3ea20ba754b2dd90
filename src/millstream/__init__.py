"""Millstream: continuous window queries over streams that arrive out of order.

import millstream as ms

engine = ms.Engine(host="local")
bids = engine.stream("bids", "bids/", progress=ms.bounded_disorder("ts", "5 seconds"))
top = bids.window("ts", range="60 seconds", slide="1 second").group_by("auction").agg(top=ms.max("price"))
top.to_parquet("out/top")
engine.start(ms.available_now()).await_termination()
"""

from millstream.api.declared_progress import (
    bounded_disorder,
    embedded,
    ordered,
    per_group,
    punctuation,
    step,
    supplied,
    timer,
)
from millstream.api.engine import Engine
from millstream.api.flush import lazy_flush, slow_flush
from millstream.api.functions import (
    aggregate,
    approx_distinct,
    approx_heavy_hitters,
    approx_quantile,
    avg,
    bool_and,
    bool_or,
    count,
    count_distinct,
    first,
    heavy_hitters,
    last,
    max,
    max_by,
    mean,
    median,
    min,
    min_by,
    mode,
    quantile,
    stddev,
    stddev_pop,
    sum,
    udaf,
    udaf_algebraic,
    var_pop,
    variance,
)
from millstream.api.operations.feedback import assumed, demanded, desired
from millstream.api.operations.many import join
from millstream.api.query import Query
from millstream.api.schema import files
from millstream.api.sql.script import Script
from millstream.api.stream import Stream
from millstream.api.table import Table
from millstream.api.triggers import available_now, every, once
from millstream.core.errors import (
    AggregateError,
    ContractError,
    ExpressionError,
    MillstreamError,
    NotYetError,
    PatternError,
    PlanError,
    PunctuationError,
    RunError,
    SchemaError,
    SinkError,
    SourceError,
    SqlError,
    StateError,
    WindowError,
    WordError,
)
from millstream.plan.sharing import Sharing
from millstream.runtime.epoch_input import Epoch
from millstream.runtime.run import Run
from millstream.runtime.sinks.compact import compact

__version__ = "0.1.0"

__all__ = [
    "AggregateError",
    "ContractError",
    "Engine",
    "Epoch",
    "ExpressionError",
    "MillstreamError",
    "NotYetError",
    "PatternError",
    "PlanError",
    "PunctuationError",
    "Query",
    "Run",
    "RunError",
    "SchemaError",
    "Script",
    "Sharing",
    "SinkError",
    "SourceError",
    "SqlError",
    "StateError",
    "Stream",
    "Table",
    "WindowError",
    "WordError",
    "aggregate",
    "approx_distinct",
    "approx_heavy_hitters",
    "approx_quantile",
    "assumed",
    "available_now",
    "avg",
    "bool_and",
    "bool_or",
    "bounded_disorder",
    "compact",
    "count",
    "count_distinct",
    "demanded",
    "desired",
    "embedded",
    "every",
    "files",
    "first",
    "heavy_hitters",
    "join",
    "last",
    "lazy_flush",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "once",
    "ordered",
    "per_group",
    "punctuation",
    "quantile",
    "slow_flush",
    "stddev",
    "stddev_pop",
    "step",
    "sum",
    "supplied",
    "timer",
    "udaf",
    "udaf_algebraic",
    "var_pop",
    "variance",
]
