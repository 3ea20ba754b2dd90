"""Cases by fixed numbers: `make test` plays these, `make fuzz` ten thousand others."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from fuzz.case import case
from fuzz.check import failures, reproduction

pytestmark = pytest.mark.slow

HOSTS = ("local", "disk")
EACH = 30


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Late rows are meant, and need no warning."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("first", [1000, 2000, 3000, 4000, 5000])
def test_cases_have_one_answer_in_this_process_and_with_checkpoints(first: int) -> None:
    wrong = {reproduction(seed, HOSTS): failures(case(seed), HOSTS) for seed in range(first, first + EACH)}

    assert {} == {where: what for where, what in wrong.items() if what}


def test_a_case_is_made_of_its_number_alone() -> None:
    assert [str(case(seed)) for seed in range(40)] == [str(case(seed)) for seed in range(40)]


@pytest.fixture(scope="module")
def spark() -> Any:
    """The session of the run."""
    from support.spark_driver import session  # noqa: PLC0415 - starts Java

    return session()


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, 8, 15, 20])
def test_cases_have_the_same_answer_on_spark(spark: Any, seed: int) -> None:
    assert [] == failures(case(seed), ("local", "spark"), spark)
