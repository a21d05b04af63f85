"""The extensions of live hypotheses by one token, from which a beam chooses.

Shapes: B sentences, C candidates
"""

from typing import NamedTuple

from torch import Tensor


class Candidates(NamedTuple):
    """Extensions of a sentence's live hypotheses by one token, best first; each (B, C)."""

    parents: Tensor  # the hypothesis that is extended
    tokens: Tensor  # the new token
    log_probs: Tensor  # of the extended hypothesis
