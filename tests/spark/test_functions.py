"""Every function, operator and cast on edge values, in plain Spark SQL and here: values, types and failures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
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
    rows = plain.createDataFrame(frame.rdd, frame.schema)  # not a relation that the optimizer would compute
    rows.createOrReplaceTempView("edge_rows")
    settled(plain, settings)
    wrong: list[str] = []
    ours = {text: evaluate([expression(text, ROWS.schema, settings)], ROWS) for _, text in CASES}
    theirs = answers(plain, ours, wrong)
    for name, text in CASES:
        if text in theirs:
            wrong += compared(text, ours[text], theirs[text], near=name in NEARLY)
    if zone == ZONES[1]:  # each failure is a call to the JVM
        wrong += not_failing(plain, rows, ours)
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong)


def guarded(text: str, made: Computed) -> str:
    """The expression for the rows that have a value."""
    if made.failed is None:
        return f"({text})"
    bad = ", ".join(str(i) for i in np.flatnonzero(made.failed.rows))
    return f"CASE WHEN row NOT IN ({bad}) THEN ({text}) END"


def answers(session: SparkSession, ours: dict[str, Computed], wrong: list[str]) -> dict[str, pa.ChunkedArray]:
    """What Spark answers, many at a time; one that fails where ours does not is found by halves."""
    texts = list(ours)
    out: dict[str, pa.ChunkedArray] = {}
    waiting = [texts[i : i + 60] for i in range(0, len(texts), 60)]
    while waiting:
        some = waiting.pop()
        items = ", ".join(f"{guarded(text, ours[text])} AS e{i}" for i, text in enumerate(some))
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


def not_failing(session: SparkSession, frame: DataFrame, ours: dict[str, Computed]) -> list[str]:
    """Rows that fail here and not in Spark."""
    texts = [text for text, made in ours.items() if made.failed is not None]
    if not texts:
        return []
    jvm: Any = session._jvm
    rdd: Any = frame._jdf
    base = rdd.queryExecution()
    rows = base.executedPlan().executeCollect()
    out: list[str] = []
    for text in texts:
        asked: Any = session.sql(f"SELECT {text} AS e FROM edge_rows")._jdf
        plan = asked.queryExecution().optimizedPlan()
        columns = plan.children().apply(0).output()
        bound = jvm.org.apache.spark.sql.catalyst.expressions.BindReferences.bindReference(
            plan.expressions().apply(0).children().apply(0),
            getattr(jvm.org.apache.spark.sql.catalyst.expressions, "package$")
            .__getattr__("MODULE$")
            .AttributeSeq(columns),
            False,  # noqa: FBT003 - the JVM has no names
        )
        order = [columns.apply(i).name() for i in range(columns.size())]
        project = _projected(base, order)
        failed = ours[text].failed
        assert failed is not None
        for i in np.flatnonzero(failed.rows)[:4]:
            try:
                bound.eval(project(rows[int(i)]))
            except Exception as error:
                if "Py4JJavaError" not in type(error).__name__ and not isinstance(error, PySparkException):
                    raise
                continue
            out.append(f"{text}: row {i} {shown(i)} does not fail in Spark: {failed.reasons[i]}")
    return out


def _projected(base: Any, order: list[str]) -> Any:
    names = [field.name() for field in base.analyzed().schema().fields()]
    if order == names:
        return lambda row: row
    raise AssertionError(f"columns were pruned: {order}")


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
