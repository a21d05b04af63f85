from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.sentence_pairs import pair_sentences


def paired(sources: list[str], targets: list[str]) -> list[tuple[str, str]]:
    return [
        (" ".join(sources[bead.source]), " ".join(targets[bead.target])) for bead in pair_sentences(sources, targets)
    ]


sentences = st.lists(st.text("ab", min_size=1, max_size=30), min_size=1, max_size=7)


def test_equal_numbers_go_one_by_one_whatever_their_lengths() -> None:
    assert paired(["a" * 90, "b"], ["x", "y" * 90]) == [("a" * 90, "x"), ("b", "y" * 90)]


def test_a_sentence_that_became_two_is_found_by_its_length() -> None:
    sources = ["Il pleut.", "Elle prend son parapluie rouge, et puis elle sort sans dire un mot.", "Le chien dort."]
    targets = ["It is raining.", "She takes her red umbrella.", "Then she leaves without a word.", "The dog sleeps."]
    assert paired(sources, targets) == [
        (sources[0], targets[0]), (sources[1], f"{targets[1]} {targets[2]}"), (sources[2], targets[3])
    ]  # fmt: skip
    assert [bead[::-1] for bead in paired(targets, sources)] == paired(sources, targets)


@given(sentences, sentences)
def test_no_sentence_is_lost(sources: list[str], targets: list[str]) -> None:
    beads = paired(sources, targets)
    assert " ".join(src for src, _ in beads) == " ".join(sources)
    assert " ".join(tgt for _, tgt in beads) == " ".join(targets)


def test_what_no_beads_fit_stays_whole() -> None:
    assert paired(["a"] * 9, ["b"]) == [(" ".join("a" * 9), "b")]
    assert len(paired(["a"] * 600, ["b"] * 601)) == 1  # too many to try
