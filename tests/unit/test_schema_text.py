"""A schema as text, wherever a schema is taken."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import millstream as ms


def test_text_is_a_schema_for_streams_tables_and_files(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,price\n2026-01-01T00:00:00,1.50\n")
    wanted = pa.schema([("ts", pa.timestamp("us", "UTC")), ("price", pa.decimal128(10, 2))])
    engine = ms.Engine(host="local")
    text = "ts TIMESTAMP, price DECIMAL(10, 2)"

    assert wanted == engine.stream("a", str(tmp_path), schema=text).schema
    assert wanted == engine.stream("b", ms.files(tmp_path, schema=text)).schema
    assert wanted == engine.stream("c", [], schema=text).schema
    assert wanted == engine.table("d", str(tmp_path), schema=text).schema


def test_types_inside_types_and_quoted_names() -> None:
    schema = ms.Engine(host="local").stream("s", [], schema="`a b` ARRAY<INT>, p STRUCT<x: DOUBLE, y: STRING>").schema

    assert ["a b", "p"] == schema.names
    assert pa.list_(pa.int32()) == schema.field("a b").type


@pytest.mark.parametrize(
    ("text", "fact", "hint"),
    [
        ("ts TIMESTMP", 'there is no type "TIMESTMP"', 'Did you mean "TIMESTAMP"?'),
        ("ts", "is expected", "Write a type, as in ts BIGINT."),
        ("ts INT, ts INT", 'the column "ts" is declared twice', "Choose another name."),
        ("", "is expected", None),
        ("a INT) b (c INT", "is expected", None),
        ("a INT; b INT", "cannot be read", None),
    ],
)
def test_a_wrong_text_is_told_clearly(text: str, fact: str, hint: str | None) -> None:
    with pytest.raises(ms.SchemaError) as caught:
        ms.Engine(host="local").stream("s", [], schema=text)

    assert fact in caught.value.fact
    assert hint is None or hint in str(caught.value.hint)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(ms.SchemaError, match="schema is dict"):
        ms.Engine(host="local").stream("s", [], schema={"ts": "INT"})  # type: ignore[arg-type]  # on purpose
