"""Whether tests draw the same few cases each time, as `make test` does, or many new ones, as `make nightly` does.

`make nightly` sets the variable NIGHTLY to a seed and prints it. With the same seed, the same cases are drawn.
"""

import os
import random

SEED = int(os.environ.get("NIGHTLY", "0"))
IS_NIGHTLY = SEED != 0


def drawn(salt: object = "") -> random.Random:
    """A generator of random numbers that is the same each time; with NIGHTLY, each time with this seed.

    Args:
        salt: tells cases of one test apart.
    """
    return random.Random(f"{SEED} {salt}")
