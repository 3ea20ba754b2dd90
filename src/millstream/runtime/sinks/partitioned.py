"""Rows by the folder that their values name, as Hive and Spark name them: `day=2026-01-31/kind=a`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.group import encode

_NULL = "__HIVE_DEFAULT_PARTITION__"
# What Hive and Spark write as %XX in the name of a folder.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(1, 32))))


def parts(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each folder, without the columns that its name says; without columns, all rows in one.

    >>> rows = pa.table({"day": ["a/b", None, "a/b"], "n": [1, 2, 3]})
    >>> [(folder, part["n"].to_pylist()) for folder, part in parts(rows, ["day"])]
    [('day=a%2Fb', [1, 3]), ('day=__HIVE_DEFAULT_PARTITION__', [2])]
    """
    if not columns:
        yield "", rows
        return
    found = encode([rows[name] for name in columns], rows.num_rows)
    named = rows.select(list(columns)).take(pa.array(found.first))
    left = rows.drop_columns(list(columns))
    codes: dict[str, list[int]] = {}
    for code in range(found.count):
        values = zip(columns, (_text(named[name][code]) for name in columns), strict=True)
        folder = "/".join(f"{_escaped(name)}={value}" for name, value in values)
        codes.setdefault(folder, []).append(code)  # null and an empty text have one folder
    for folder, mine in codes.items():
        yield folder, left.filter(pa.array(np.isin(found.codes, mine)))


def _text(value: pa.Scalar) -> str:
    if not value.is_valid:
        return _NULL
    if pa.types.is_binary(value.type) or pa.types.is_large_binary(value.type):
        return _escaped(value.as_py().decode("utf-8", "replace"))
    return _escaped(value.cast(pa.string()).as_py()) or _NULL  # an empty text names no folder


def _escaped(text: str) -> str:
    return "".join(f"%{ord(one):02X}" if one in _ESCAPED else one for one in text)
