"""Sinks of the local host: where the rows that leave a query go. One file a sink."""

from __future__ import annotations

from millstream.runtime.sinks.callback import CallbackSink
from millstream.runtime.sinks.console import ConsoleSink
from millstream.runtime.sinks.csv import CsvSink
from millstream.runtime.sinks.json_lines import JsonLinesSink
from millstream.runtime.sinks.memory import MemorySink
from millstream.runtime.sinks.parquet import ParquetSink

__all__ = ["CallbackSink", "ConsoleSink", "CsvSink", "JsonLinesSink", "MemorySink", "ParquetSink"]
