"""Whether sentences are text or already tokens."""

from collections.abc import Sequence


def is_tokenised(sentences: Sequence[str]) -> bool:
    """Whether most sentences that end in a full stop have a space before it. No language writes text like that.

    Other stops say nothing: Hindi and Khmer may have a space before theirs.
    """
    stops = [sentence[-2:] for sentence in map(str.rstrip, sentences) if sentence.endswith((".", "。"))]
    has_space = [stop[0] == " " for stop in stops]
    return 2 * sum(has_space) > len(has_space)
