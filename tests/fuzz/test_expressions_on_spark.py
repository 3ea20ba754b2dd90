"""Composed expressions in plain Spark SQL and here: the same values, row by row, wherever ours has one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from fuzz.compare import near_of
from fuzz.expressions import EDGES, expressed
from millstream.core.settings import Settings
from millstream.kernels.expressions.evaluate import Computed, evaluate
from millstream.sql.expression import expression

pytestmark = pytest.mark.spark
CASES = 60


@pytest.fixture(scope="module")
def plain() -> Any:
    """A session of its own that computes row by row: nothing is compiled."""
    from support.spark_driver import session  # noqa: PLC0415 - starts Java

    made = session().newSession()
    made.conf.set("spark.sql.codegen.wholeStage", "false")
    made.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    made.conf.set("spark.sql.session.timeZone", "UTC")
    frame = made.createDataFrame(EDGES)
    frame.withColumn("nt", frame["nt"].cast("timestamp_ntz")).createOrReplaceTempView("edges")
    return made


@pytest.mark.parametrize(
    ("seed", "settings"),
    [
        (7, Settings()),
        (8, Settings(ansi=False, zone="Europe/Berlin")),
        (9, Settings(zone="America/New_York")),
        (10, Settings(ansi=False, zone="Asia/Kolkata")),
    ],
    ids=str,
)
def test_composed_expressions_mean_what_they_mean_in_spark(plain: Any, seed: int, settings: Settings) -> None:
    rnd = random.Random(seed)
    texts = [expressed(rnd)[0] for _ in range(CASES)]
    ours = {text: evaluate([expression(text, EDGES.schema, settings)], EDGES) for text in texts}
    plain.conf.set("spark.sql.ansi.enabled", str(settings.ansi).lower())
    plain.conf.set("spark.sql.session.timeZone", settings.zone)

    assert [] == wrong(plain, ours)


def wrong(session: Any, ours: dict[str, Computed]) -> list[str]:
    """Expressions whose values differ, or that fail in Spark for a row that has a value here."""
    out: list[str] = []
    waiting = [list(ours)]
    while waiting:
        some = waiting.pop()
        items = ", ".join(f"{_guarded(text, ours[text])} AS e{i}" for i, text in enumerate(some))
        try:
            theirs = session.sql(f"SELECT {items} FROM edges ORDER BY row").toArrow()
        except PySparkException as error:
            if len(some) == 1:
                out.append(f"{some[0]}: Spark says {str(error)[:200]}")
            else:
                half = len(some) // 2
                waiting += [some[:half], some[half:]]
            continue
        out += [text for i, text in enumerate(some) if _values(ours[text]) != _plain(theirs[f"e{i}"], ours[text])]
    return out


def _guarded(text: str, made: Computed) -> str:
    if made.failed is None:
        return f"({text})"
    bad = ", ".join(str(i) for i in np.flatnonzero(made.failed.rows))
    return f"CASE WHEN row NOT IN ({bad}) THEN ({text}) END"


def _values(made: Computed) -> list[str]:
    return _plain(made.values[0], made)


def _plain(values: pa.ChunkedArray, made: Computed) -> list[str]:
    """The values of rows that did not fail, as text."""
    failed = np.zeros(EDGES.num_rows, np.bool_) if made.failed is None else made.failed.rows
    return ["" if bad else _text(one) for one, bad in zip(values, failed, strict=True)]


def _text(one: Any) -> str:
    try:
        return repr(near_of(one.as_py()))
    except (OverflowError, ValueError):
        return str(one.value)
