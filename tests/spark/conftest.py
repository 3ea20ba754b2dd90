"""One Spark session for all of these."""

from __future__ import annotations

from typing import Any

import pytest

from support.spark_driver import session


@pytest.fixture(scope="session")
def spark() -> Any:
    """The session of the run."""
    return session()
