"""How hard Hypothesis looks, by MILLSTREAM_HYPOTHESIS: `quick` (`make quick`), `fast` by default, `deep` (`make laws`).

Tests of the laboratory are marked by their folder.
"""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no reason to fail: neither one example nor making them is timed.
settings.register_profile("fast", max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("fast"), max_examples=4)
settings.register_profile("deep", settings.get_profile("fast"), max_examples=500)
settings.load_profile(os.environ.get("MILLSTREAM_HYPOTHESIS", "fast"))
LAB = Path(__file__).parent / "lab"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the laboratory."""
    for item in items:
        if item.path.is_relative_to(LAB):
            item.add_marker(pytest.mark.lab)
