"""What the documents show of Spark runs, over a folder of bids."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import millstream as ms

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python spark\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = START + timedelta(minutes=1)


@pytest.mark.parametrize("document", ["README.md", "docs/guide/spark.md"])
def test_blocks_for_spark_run(spark: Any, document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bids").mkdir()
    rows = [{"ts": START + timedelta(seconds=s), "auction": "lamp", "price": s} for s in range(100)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "bids" / "0.parquet")
    names: dict[str, Any] = {"ms": ms, "spark": spark}

    # Spark was started elsewhere, and looks for files there.
    text = (ROOT / document).read_text().replace('parquet("bids/")', f'parquet("{tmp_path / "bids"}")')
    found = list(BLOCK.finditer(text))
    assert found
    for block in found:
        exec(compile("\n" * text.count("\n", 0, block.start(1)) + block[1], document, "exec"), names)

    if "top" not in names:  # the first lines of a program: let it ask something
        bids, engine = names["bids"], names["engine"]
        bids.window("ts", range="60 seconds").agg(top=ms.max("price")).to_parquet("out/top").named("top")
        engine.start(ms.available_now()).await_termination()
    closed = [row["top"] for row in ds.dataset("out/top").to_table().to_pylist() if row["window_end"] == MINUTE]
    assert [59] == closed
