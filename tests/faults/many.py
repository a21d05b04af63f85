"""How many faults a property test tries: some, or with the variable FAULTS=long as many as an hour has room for."""

import os

from hypothesis import HealthCheck, settings

# What is read back lies in folders that all examples of a test share, and machines that are busy are slow.
_SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("faults-short", max_examples=40, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("faults-long", max_examples=5_000, deadline=None, suppress_health_check=_SLOW)

FAULTS = settings.get_profile(f"faults-{os.environ.get('FAULTS', 'short')}")
