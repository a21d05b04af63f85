"""Alignment error rates worked out by hand, and files of reference links."""

from pathlib import Path

import numpy as np
import pytest

from seq2seq.errors import CorpusError
from seq2seq.inspection.link_scores import LinkCounts, Reference, read_links

PAIRS = [("un chat dort", "a cat sleeps"), ("oui", "yes")]


def counted(chosen: list[list[int]], words: list[int], reference: Reference) -> LinkCounts:
    counts = LinkCounts.of((len(chosen),))
    counts.add(np.array(chosen), np.array(words), reference)
    return counts


def test_error_rate_precision_and_recall_by_hand() -> None:
    # Sure: 0-0, 1-1, 2-3; possible: these, and 1-2. Each system links target words 0 to 3.
    reference = Reference({(0, 0), (1, 1), (2, 3)}, {(0, 0), (1, 1), (2, 3), (1, 2)})
    counts = counted([[0, 1, 1, 2], [0, 0, 0, 0], [2, 2, 2, 1]], [0, 1, 2, 3], reference)
    assert counts.sure.tolist() == [3, 1, 0]
    assert counts.possible.tolist() == [4, 1, 0]
    assert counts.error_rate == pytest.approx([1 - 7 / 7, 1 - 2 / 7, 1.0])
    assert counts.precision == pytest.approx([1.0, 1 / 4, 0.0])
    assert counts.recall == pytest.approx([1.0, 1 / 3, 0.0])


def test_target_words_without_pieces_propose_nothing() -> None:
    counts = counted([[0, 2]], [0, 2], Reference({(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1), (2, 2)}))
    assert (counts.found.tolist(), counts.sure.tolist(), counts.n_sure) == ([2], [2], 3)


def test_words_after_the_last_link_have_none() -> None:
    counts = counted([[0, 5]], [0, 4], Reference({(0, 0)}, {(0, 0)}))
    assert counts.sure.tolist() == counts.possible.tolist() == [1]
    assert counted([[1]], [0], Reference(set(), set())).possible.tolist() == [0]


def test_a_file_of_links_has_sure_and_possible_ones(tmp_path: Path) -> None:
    file = tmp_path / "links"
    file.write_text("0-0 1-1 2?2 2p1\n\n")
    first, second = read_links(file, PAIRS)
    assert first == Reference({(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2), (2, 1)})
    assert second == Reference(set(), set())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n", "has 1 lines for 2 pairs"),
        ("0:0\n\n", ":1: '0:0' is not a link; write SOURCE-TARGET"),
        ("0-0\n0-1\n", ":2: 0-1 names a word that is not there: the pair has 1 and 1 words"),
        ("3-0\n\n", ":1: 3-0 names a word that is not there: the pair has 3 and 3 words"),
    ],
)
def test_a_file_of_links_that_does_not_fit_is_refused(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "links"
    file.write_text(content)
    with pytest.raises(CorpusError) as refusal:
        read_links(file, PAIRS)
    assert message in str(refusal.value)
