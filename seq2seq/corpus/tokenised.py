"""Whether sentences are text or already tokens."""

from collections.abc import Sequence


def is_tokenised(sentences: Sequence[str]) -> bool:
    """Whether most sentences that end in a full stop have a space before it. No language writes text like that."""
    has_space = [sentence.endswith(" .") for sentence in map(str.rstrip, sentences) if sentence.endswith(".")]
    return 2 * sum(has_space) > len(has_space)
