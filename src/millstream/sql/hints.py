"""Hints of the fluent API in the words of SQL, for those who wrote a statement."""

from __future__ import annotations

import re


def in_sql(hint: str | None) -> str | None:
    """A hint of the fluent API in the words of SQL.

    >>> in_sql('Use ms.max_by("x", "ts") or ms.count().')
    'Use max_by(x, ts) or count(*).'
    >>> in_sql('Rename it first: select("window_id AS inner_window_id", …).')
    'Rename it in a sub-query: SELECT window_id AS inner_window_id, ….'
    """
    if hint is None:
        return None
    if hint in HINTS:
        return HINTS[hint]
    hint = hint.replace("Apply it on the data frame before engine.stream(…), or compute", "Compute")
    hint = re.sub(r'Rename it first: select\("([^"]*)", …\)', r"Rename it in a sub-query: SELECT \1, …", hint)
    hint = hint.replace("Give the changed query another name: it then", _ANOTHER)
    hint = re.sub(r"run it unchanged and call engine\.drain\(([^()]*)\)", _DRAIN, hint)
    hint = re.sub(r"\bms\.(\w+)\(\)", r"\1(*)", hint)
    hint = re.sub(r"\bms\.(\w+)\(([^()]*)\)", lambda found: f"{found[1]}({found[2].replace(chr(34), '')})", hint)
    return re.sub(r'"(cast\([^"]*\)|\d+ \w+)"', r"\1", hint)


_ANOTHER = (
    "Write the changed query to another folder, which gives it another name. (A SELECT without a folder gets its name "
    "from its place in the file: write new ones after the old ones.) It then"
)
_DRAIN = r"call `millstream drain FILE.sql \1 --checkpoint …` with the old statements"

HINTS = {
    'A filter is a condition: filter="price > 10".': "A filter is a condition: FILTER (WHERE price > 10).",
    "Ask for each range in a query of its own, or give start= to count 24 hours from there.":
    "Ask for each RANGE in a query of its own, or give START to count 24 hours from there.",
    "Cast one of them in a select first.": "Cast one of them in a sub-query.",
    "Cast the stream's column in a select first, or write the table with the stream's type.":
    "Cast the stream's column in a sub-query, or write the table with the stream's type.",
    'Choose another folder, or say what to do: to_parquet(path, mode="append") or mode="replace"; in SQL, '
    "INSERT OVERWRITE … replaces.":
    "Choose another folder, or say what to do: INSERT OVERWRITE … replaces what is there, and OPTIONS (mode 'append') "
    "writes beside it.",
    'Compare something: "price > 10".': "Compare something: price > 10.",
    "Compute a part of it in a select before.": "Compute a part of it in a sub-query.",
    "Correct the file, or give schema=pa.schema([…]) with types that fit.":
    "Correct the file, or declare columns with types that fit: CREATE TABLE name (k STRING, …) FROM ….",
    'Declare progress=… on both sides, or name the column: time="ts".': "Declare PROGRESS ON … for both streams.",
    'Declare progress=…, or name the attributes: time="ts" or time=("ts", "stamp").':
    "Declare PROGRESS ON … for both streams.",
    "Give schema=pa.schema([…]).": "Declare the columns: CREATE STREAM name (ts TIMESTAMP, k STRING) FROM ….",
    'Name the format and a pattern="*.csv", say.': "Choose files of one format: OPTIONS (pattern '*.csv').",
    "Rename one in a select first.": "Rename one with AS in a sub-query.",
    "Rows of one time need no as-of: use join(…, within=…).": "Rows of one time need no as-of: leave ASOF out.",
    "The run stopped before this file, and nothing of it was taken. Repair it, move it away, or leave it out with "
    "pattern=; then start again.":
    "The run stopped before this file, and nothing of it was taken. Repair it, move it away, or leave it out with "
    "OPTIONS (pattern '…'); then start again.",
    'Use how="left" to keep rows without a partner.': "Use LEFT JOIN to keep rows without a partner.",
    'Write a duration such as "5 seconds".': "Give it a unit, as in 5 seconds.",
}  # fmt: skip
"""Those that no rule turns."""
