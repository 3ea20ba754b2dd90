"""One Spark session for all of these."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.spark.paths import row_paths
from support.spark_driver import FEW_ROWS, session


@pytest.fixture(scope="session")
def spark() -> Any:
    """The session of the run."""
    return session()


@pytest.fixture
def few_rows(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Epochs of few rows are taken in by the driver, as for users."""
    assert spark is session()  # which has set another limit
    monkeypatch.setattr(row_paths, "FEW_ROWS", FEW_ROWS)
