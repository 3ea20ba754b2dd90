"""How hard Hypothesis looks: `fast` by default, `deep` with MILLSTREAM_HYPOTHESIS=deep (`make laws`)."""

import os

from hypothesis import HealthCheck, settings

# A slow machine is no reason to fail: neither one example nor making them is timed.
settings.register_profile("fast", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", settings.get_profile("fast"), max_examples=500)
settings.load_profile(os.environ.get("MILLSTREAM_HYPOTHESIS", "fast"))
