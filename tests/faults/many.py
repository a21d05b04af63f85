"""How many faults a property test tries."""

from hypothesis import settings

from tests.nightly import IS_NIGHTLY

FAULTS = settings(max_examples=1_500 if IS_NIGHTLY else 40)
COSTLY_FAULTS = settings(max_examples=1_500 if IS_NIGHTLY else 12)  # that take some hundredths of a second each
