"""Transcripts: a query and a script of events, and a driver that plays them on one host.

A case says `streams`, `query` and `events`. An event with `rows`, `punctuation`, `clock` or `end` is an epoch; what
leaves until the next one must be in the `expect` that follows it. An expected row names only the columns that the
case is about. tests/transcripts/README.md has the whole grammar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

import millstream as ms

Case = Mapping[str, Any]
Left = dict[str, list[dict[str, Any]]]
OUTPUTS = ("results", "late", "rejected")
_CALL = re.compile(r"(?P<name>\w+)\((?P<arguments>[^)]*)\)(?:\s+FILTER\s+\((?P<filter>.*)\))?$")


class Driver(Protocol):
    """A host that can play a transcript."""

    def epoch(self, rows: Mapping[str, list[Any]], punctuation: Mapping[str, list[str]], clock: Any) -> Left:
        """One epoch: rows first, then punctuation. What left, by output."""
        ...

    def end(self) -> Left:
        """The final punctuation of every stream."""
        ...

    def refresh(self, tables: Mapping[str, list[Any]]) -> None:
        """Tables are read again, and have these rows."""
        ...


class LocalDriver:
    """Plays a case on the local host, one epoch a run."""

    def __init__(self, case: Case) -> None:
        """Declare the streams and the query."""
        self.engine = ms.Engine(host="local")
        self.now: Any = None
        self.waiting: dict[str, list[ms.Epoch]] = {name: [] for name in case["streams"]}
        self.left: Left = {}
        streams = {
            name: self.engine.stream(
                name,
                self._source(name),
                schema=schema_of(spec["columns"]),
                progress=self._progress(spec.get("progress")),
            )
            for name, spec in case["streams"].items()
        }
        self._declare_tables(case)
        query = build(case["query"], streams)
        query.named("q").for_each(self._keeper("results"))
        query.late.for_each(self._keeper("late"))
        query.rejected.for_each(self._keeper("rejected"))

    def epoch(self, rows: Mapping[str, list[Any]], punctuation: Mapping[str, list[str]], clock: Any) -> Left:
        """Queue an epoch for the streams that have one, and run it."""
        self.now = self.now if clock is None else clock
        for name in {**rows, **punctuation}:
            self.waiting[name].append(ms.Epoch(rows.get(name, []), punctuation.get(name, [])))
        return self._run()

    def end(self) -> Left:
        """Run to the end of the stream."""
        return self._run(end=True)

    def refresh(self, tables: Mapping[str, list[Any]]) -> None:
        """Tables have other rows from the next epoch on."""
        for name, rows in tables.items():
            self.tables[name] = rows
            self.engine.refresh(name)

    def _declare_tables(self, case: Case) -> None:
        self.tables: dict[str, list[Any]] = {}
        for name, spec in case.get("tables", {}).items():
            self.tables[name] = spec["rows"]
            schema = schema_of(spec["columns"])
            self.engine.table(name, self._rows_of(name, schema.names), schema=schema)

    def _rows_of(self, name: str, columns: Sequence[str]) -> Any:
        return lambda: [row_of(row, columns) for row in self.tables[name]]

    def _run(self, *, end: bool = False) -> Left:
        self.left = {name: [] for name in OUTPUTS}
        self.engine.start(ms.once(), end_of_stream=end, allow_unbounded=True).await_termination()
        return self.left

    def _source(self, name: str) -> Any:
        return lambda: self.waiting[name].pop(0) if self.waiting[name] else None

    def _keeper(self, output: str) -> Any:
        return lambda table, _epoch: self.left[output].extend(table.to_pylist())

    def _progress(self, spec: Any) -> Any:
        if spec is None:
            return None
        ((name, arguments),) = spec.items()
        if name == "per_group":
            return ms.per_group(arguments[0], self._progress(arguments[1]))
        if name == "timer":
            return ms.timer(arguments["attribute"], arguments["every"], lull=arguments["lull"], clock=lambda: self.now)
        if isinstance(arguments, Mapping):
            return getattr(ms, name)(**arguments)
        return getattr(ms, name)(*(arguments if isinstance(arguments, list) else [arguments]))


def schema_of(columns: Mapping[str, str]) -> pa.Schema:
    """Column names and the names of their types."""
    kinds = {"timestamp": pa.timestamp("us", "UTC"), "decimal": pa.decimal128(9, 2)}
    return pa.schema([(name, kinds.get(kind) or pa.type_for_alias(kind)) for name, kind in columns.items()])


def build(spec: Mapping[str, Any], streams: Mapping[str, ms.Stream]) -> Any:
    """The query that a case describes, in SQL or clause by clause."""
    if "sql" in spec:
        return next(iter(streams.values())).engine.sql(spec["sql"])
    names = spec.get("union") or [spec.get("from", next(iter(streams)))]
    query: Any = streams[names[0]]
    if len(names) > 1:
        query = query.union(*(streams[name] for name in names[1:]))
    for method in ("join", "join_as_of", "difference", "intersect", "enrich"):
        if method in spec:
            # YAML reads a bare `on` as true.
            options = {"on" if name is True else name: value for name, value in spec[method].items()}
            other = options.pop("with")
            options |= {
                name: tuple(options[name]) for name in ("within", "time") if isinstance(options.get(name), list)
            }
            if isinstance(options.get("on"), list):
                options["on"] = [tuple(pair) if isinstance(pair, list) else pair for pair in options["on"]]
            query = getattr(query, method)(streams.get(other, other), **options)
    if "where" in spec:
        query = query.where(spec["where"])
    if "select" in spec:
        query = query.select(*spec["select"])
    if "distinct" in spec:
        query = query.distinct(*spec["distinct"])
    if "top" in spec:
        options = dict(spec["top"])
        query = query.top(options.pop("rows"), **options)
    if "sort" in spec:
        query = query.sort(spec["sort"])
    if "window" not in spec:
        return query
    window = dict(spec["window"])
    if "flush" in window:
        ((name, options),) = window["flush"].items()
        window["flush"] = getattr(ms, name)(**options)
    windowed = query.window(**window).group_by(*spec.get("group_by", []))
    calls = {name: call_of(text) for name, text in spec.get("agg", {"n": "count(*)"}).items()}
    return windowed.agg(**calls, strategy=spec.get("strategy", "auto"))


def call_of(text: str) -> Any:
    """An aggregate as text: `count(*)`, `sum(v) FILTER (v > 3)`."""
    found = _CALL.match(text)
    assert found is not None, f"{text!r} is not an aggregate call"
    arguments = [part.strip() for part in found["arguments"].split(",") if part.strip() not in ("", "*")]
    return getattr(ms, found["name"])(*arguments, filter=found["filter"])


def play(case: Case, driver: Driver) -> list[str]:
    """What went otherwise than expected, in words; empty if nothing did."""
    first = next(iter(case["streams"]))
    columns = {name: list(spec["columns"]) for name, spec in case["streams"].items()}
    left: Left = {name: [] for name in OUTPUTS}
    wrong: list[str] = []
    for number, event in enumerate([*case["events"], {"expect": {}}], 1):
        if "expect" in event:
            for name in OUTPUTS:
                wrong += [
                    f"event {number}: {name}: {one}" for one in compare(event["expect"].get(name, []), left[name])
                ]
            left = {name: [] for name in OUTPUTS}
            continue
        for name, rows in left.items():
            wrong += [f"before event {number}: {name}: not expected: {row}" for row in rows]
        if "refresh" in event:
            driver.refresh(event["refresh"])
        if event.get("end"):
            left = driver.end()
            continue
        given = {
            name: [row_of(one, columns[name]) for one in rows]
            for name, rows in by_stream(event.get("rows"), first).items()
        }
        promises = {
            name: [one] if isinstance(one, str) else list(one)
            for name, one in by_stream(event.get("punctuation"), first).items()
        }
        left = {name: [] for name in OUTPUTS}
        try:
            left = driver.epoch(given, promises, event.get("clock"))
        except ms.MillstreamError as error:
            if "refused" not in event or str(event["refused"]) not in str(error):
                raise
            continue
        if "refused" in event:
            wrong.append(f"event {number}: not refused")
    return wrong


def by_stream(value: Any, first: str) -> Mapping[str, Any]:
    """What each stream gets; without names it is for the first."""
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else {first: value}


def row_of(value: Any, columns: Sequence[str]) -> dict[str, Any]:
    """A row: a dict, a list in the order of the columns, or the value of the first column."""
    if isinstance(value, Mapping):
        return dict(value)
    values = value if isinstance(value, list) else [value]
    return dict(zip(columns, values, strict=False))


def compare(expected: Sequence[Mapping[str, Any]], actual: Sequence[Mapping[str, Any]]) -> list[str]:
    """Each expected row must be one of the actual, and each actual row expected."""
    left = list(actual)
    out: list[str] = []
    # Rows that say more are matched first, so that a vague one does not take their partner.
    for row in sorted(expected, key=len, reverse=True):
        partner = next((one for one in left if all(same(value, one.get(name)) for name, value in row.items())), None)
        if partner is None:
            out.append(f"missing: {dict(row)}")
        else:
            left.remove(partner)
    return out + [f"not expected: {row}" for row in left]


def same(expected: Any, actual: Any) -> bool:
    """Equal, times and decimals being written as text."""
    if isinstance(expected, str) and actual is not None and not isinstance(actual, str):
        return expected == (actual.isoformat() if hasattr(actual, "isoformat") else str(actual))
    return expected == actual
