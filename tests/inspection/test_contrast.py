"""Right and wrong translations: the file, and what a trained model says of them."""

from pathlib import Path

import pytest

import seq2seq
from seq2seq.errors import CorpusError, TranslationError
from seq2seq.inspection.contrast import Contrast, Judged, contrasts_as_text, judge, read_contrasts
from seq2seq.translation.translator import Translator
from tests.places import ROOT
from tests.translating import sentences


@pytest.fixture(scope="module")
def translator(trained_run: Path) -> Translator:
    return seq2seq.load(trained_run, device="cpu", precision="float32", workers=1)


def test_a_model_prefers_the_translations_that_it_has_learned(translator: Translator) -> None:
    pairs = sentences(4)
    contrasts = [
        Contrast(src, tgt, wrong) for (src, tgt), (_, wrong) in zip(pairs, [*pairs[1:], pairs[0]], strict=True)
    ]
    judged = judge(translator, contrasts)
    assert all(each.margin > 1 and each.nearness is None for each in judged)
    turned = judge(translator, [Contrast(each.source, each.wrong, each.right) for each in contrasts])
    assert [each.margin for each in turned] == pytest.approx([-each.margin for each in judged], abs=1e-4)
    scored = next(translator.score([(contrasts[0].source, contrasts[0].right)])).log_prob
    other = next(translator.score([(contrasts[0].source, contrasts[0].wrong)])).log_prob
    assert judged[0].margin == pytest.approx(scored - other, abs=1e-4)


def test_a_word_is_nearest_to_itself(translator: Translator) -> None:
    # Layer 0: the embeddings, which are the same for one word but for the position.
    line = "Ba di ba fo."
    (near,) = judge(translator, [Contrast(line, "Bas.", "Dis.", "ba", "ba", "fo")], layer=0)
    (far,) = judge(translator, [Contrast(line, "Bas.", "Dis.", "ba", "fo", "ba")], layer=0)
    assert near.nearness is not None and far.nearness is not None
    assert near.nearness > 0.1
    assert near.nearness == pytest.approx(-far.nearness, abs=1e-6)


def test_the_contrasts_that_ship_are_whole_and_come_in_pairs() -> None:
    found = read_contrasts(ROOT / "data/contrast/it.en-fr.tsv")
    assert len(found) == 16
    for first, second in zip(found[::2], found[1::2], strict=True):
        assert (first.antecedent, first.other) == (second.other, second.antecedent)
        assert first.word == "it" and first.source != second.source
        begin = first.source[: first.source.index(" it ")]
        assert second.source.startswith(begin) and begin.count(first.antecedent) == begin.count(first.other) == 1
        for each in (first, second):
            assert ("'elle " in each.right) != ("'elle " in each.wrong) == ("'il " in each.right)
        assert ("'elle " in first.right) != ("'elle " in second.right)


@pytest.mark.parametrize("line", ["a\tb", "a\tb\tc\td", "a\t \tc", ""])
def test_other_lines_are_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "contrasts.tsv"
    file.write_text(f"a\tb\tc\n{line}\n")
    with pytest.raises(CorpusError, match=r"contrasts.tsv:2: expected source, right and wrong translation"):
        read_contrasts(file)


def test_a_file_without_lines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").touch()
    with pytest.raises(CorpusError, match=r"empty.tsv is empty; give a contrast on each line"):
        read_contrasts(tmp_path / "empty.tsv")


def test_what_cannot_be_scored_is_refused(translator: Translator) -> None:
    with pytest.raises(TranslationError, match=r"'Ba.' cannot be scored: one side is blank"):
        judge(translator, [Contrast("Ba.", "Bas.", " ")])
    with pytest.raises(TranslationError, match=r"has no word 'it'; its words are: Ba\."):
        judge(translator, [Contrast("Ba.", "Bas.", "Dis.", "it", "ba", "ba")])


def test_a_table_counts_what_is_right() -> None:
    shown = contrasts_as_text([Judged("one", 1.25, 0.5), Judged("two", -2.0, -0.25)]).splitlines()
    assert shown[:3] == ["margin  nearness", " +1.25    +0.500  one", " -2.00    -0.250  two"]
    assert shown[4:] == [
        "1 of 2 times, the right translation is the more probable one",
        "1 of 2 times, the word is nearer to what it refers to",
    ]
    assert contrasts_as_text([Judged("one", 0.0, None)]).splitlines() == [
        "margin", " +0.00  one", "", "0 of 1 times, the right translation is the more probable one"
    ]  # fmt: skip
