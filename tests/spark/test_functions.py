"""Every function, operator and cast on edge values, in plain Spark SQL and here: values, types and failures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions
from pyspark.sql.classic.column import Column
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.core.settings import Settings
from millstream.kernels.expressions.evaluate import Computed, evaluate
from millstream.sql.expression import expression
from support.function_cases import FUNCTIONS, NEARLY, OPERATORS, table

pytestmark = pytest.mark.spark
CASES = [(name, text) for name, texts in {**OPERATORS, **FUNCTIONS}.items() for text in texts]
ZONES = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"]
ROWS = table()


@pytest.fixture(scope="module")
def plain(spark: SparkSession) -> SparkSession:
    """A session whose settings may change, that computes row by row: nothing is compiled."""
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    session.conf.set("spark.sql.subexpressionElimination.enabled", "false")
    return session


def settled(session: SparkSession, settings: Settings) -> None:
    session.conf.set("spark.sql.ansi.enabled", "true" if settings.ansi else "false")
    session.conf.set("spark.sql.session.timeZone", settings.zone)


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "not-ansi"])
@pytest.mark.parametrize("zone", ZONES)
def test_every_function_means_what_it_means_in_spark(plain: SparkSession, zone: str, *, ansi: bool) -> None:
    settings = Settings(ansi=ansi, zone=zone)
    settled(plain, Settings())
    frame = plain.createDataFrame(ROWS)
    frame = frame.withColumn("nt", frame["nt"].cast("timestamp_ntz"))
    frame.createOrReplaceTempView("edges")
    settled(plain, settings)
    wrong: list[str] = []
    ours = {text: evaluate([expression(text, ROWS.schema, settings)], ROWS) for _, text in CASES}
    theirs = answers(plain, [text for text in ours if ours[text].failed is None], wrong)
    theirs |= attempts(plain, {text: made for text, made in ours.items() if made.failed is not None}, wrong)
    for name, text in CASES:
        if text in theirs:
            wrong += compared(text, ours[text], theirs[text], near=name in NEARLY)
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)


def answers(session: SparkSession, texts: list[str], wrong: list[str]) -> dict[str, pa.ChunkedArray]:
    """What Spark answers, many at a time; one that fails where ours does not is found by halves."""
    out: dict[str, pa.ChunkedArray] = {}
    waiting = [texts[i : i + 60] for i in range(0, len(texts), 60)]
    while waiting:
        some = waiting.pop()
        items = ", ".join(f"({text}) AS e{i}" for i, text in enumerate(some))
        try:
            frame = session.sql(f"SELECT {items} FROM edges ORDER BY row")
            kinds = to_arrow_schema(frame.schema, timezone="UTC")
            made = frame.toArrow()
        except PySparkException as error:
            if len(some) == 1:
                wrong.append(f"{some[0]}: Spark says {str(error)[:150]!r}")
            else:
                waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
            continue
        for i, text in enumerate(some):
            out[text] = made[f"e{i}"].cast(kinds.field(f"e{i}").type)
    return out


def attempts(session: SparkSession, ours: dict[str, Computed], wrong: list[str]) -> dict[str, Any]:
    """What Spark answers where rows fail: the same rows must, and the others have values.

    TryEval, of which Spark makes its try_ functions, is null where what is in it fails. Here an array is in it, which
    is not null by itself.
    """
    out: dict[str, Any] = {}
    jvm: Any = session._jvm
    catalyst, inner = jvm.org.apache.spark.sql.catalyst.expressions, jvm.org.apache.spark.sql.classic.ExpressionUtils
    edges = session.table("edges").orderBy("row")
    texts = list(ours)
    for some in (texts[i : i + 60] for i in range(0, len(texts), 60)):
        tried = [inner.expression(functions.expr(f"array({text})")._jc) for text in some]
        columns = [Column(inner.column(catalyst.TryEval(one))).alias(f"e{i}") for i, one in enumerate(tried)]
        frame = edges.select(*columns)
        kinds = to_arrow_schema(frame.schema, timezone="UTC")
        made = frame.toArrow()
        for i, text in enumerate(some):
            found = made[f"e{i}"].combine_chunks()
            out[text] = pc.list_element(found, 0).cast(kinds.field(f"e{i}").type.value_type)
            wrong += failing(text, ours[text], np.asarray(found.is_null()))
    return out


def failing(text: str, made: Computed, theirs: Any) -> list[str]:
    """Rows that fail here and not in Spark, or in Spark and not here."""
    assert made.failed is not None
    here, there = np.flatnonzero(made.failed.rows & ~theirs), np.flatnonzero(theirs & ~made.failed.rows)
    out = [f"{text}: row {i} {shown(i)} does not fail in Spark: {made.failed.reasons[i]}" for i in here[:3]]
    return out + [f"{text}: row {i} {shown(i)} fails in Spark" for i in there[:3]]


def compared(text: str, made: Computed, theirs: pa.ChunkedArray, *, near: bool) -> list[str]:
    ours = made.values[0]
    if kind_of(ours) != kind_of(theirs):
        return [f"{text}: {ours.type}, and in Spark {theirs.type}"]
    out: list[str] = []
    bad = made.failed.rows if made.failed is not None else np.zeros(len(ours), dtype=np.bool_)
    for i, (mine, other) in enumerate(zip(values(ours), values(theirs), strict=True)):
        if not bad[i] and not same(mine, other, near=near):
            out.append(f"{text}: row {i} {shown(i)} is {mine!r}, and in Spark {other!r}")
    return out[:3]


def kind_of(column: Any) -> str:
    """The type, whatever an array calls its items."""
    return str(column.type).replace("item:", "element:").replace(" not null", "")


def values(column: Any) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_date32(kind):
        return column.cast(pa.int32()).to_pylist()
    return column.to_pylist()


def same(one: Any, other: Any, *, near: bool) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if near and math.isclose(one, other, rel_tol=1e-15, abs_tol=1e-300):
            return True
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other and type(one) is type(other)


def shown(i: int) -> dict[str, Any]:
    row = ROWS.slice(int(i), 1)
    names = ("i8", "i32", "j32", "i64", "f64", "d", "s", "u", "n", "w", "js", "dt", "ts")
    return {name: value for name in names for value in values(row[name])}
