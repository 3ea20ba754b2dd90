"""The hosts on which every transcript is played."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.spark_driver import SparkDriver, TasksDriver
from support.transcripts import Case, Driver, LocalDriver

HOSTS: dict[str, Callable[[Case], Driver]] = {"local": LocalDriver, "tasks": TasksDriver, "spark": SparkDriver}


@pytest.fixture(params=["local", "tasks", pytest.param("spark", marks=pytest.mark.spark)])
def host(request: pytest.FixtureRequest) -> Callable[[Case], Driver]:
    """Makes a driver for a case; a new host is one more entry in `HOSTS`."""
    return HOSTS[request.param]
