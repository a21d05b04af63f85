"""Text as people write it, translated by a model that has learned a word for each word of clean lines."""

import dataclasses
from collections.abc import Callable
from functools import partial

import pytest

from seq2seq.config.augment import AugmentConfig
from seq2seq.dataset.seen import PERCENTS, Looks, SeenText
from seq2seq.errors import ConfigError
from seq2seq.translation.text.rewriting import Change
from seq2seq.translation.translator import Translator
from tests.translating import sentences
from tests.translation.translations import kinds, texts

Write = Callable[[str], str]

PAIRS = [(src, tgt) for src, tgt in sentences(80) if len(src.split()) >= 4][:40]  # others are too short for a headline
SOURCES, EXPECTED = [src for src, _ in PAIRS], [tgt for _, tgt in PAIRS]


def title(text: str) -> str:
    return " ".join(word.capitalize() for word in text.split())


def n_right(found: list[str], expected: list[str]) -> int:
    return sum(a == b for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize(
    ("written", "given_back"),
    [
        (str.upper, str.upper),
        (lambda text: text + " 😀", lambda text: text + " 😀"),
        (lambda text: "★ " + text, lambda text: "★ " + text),
        (lambda text: text.replace(" ", " Привет ", 1), None),
        (lambda text: text[:3] + "\u00ad" + text[3:], lambda text: text),
    ],
)
def test_what_people_write_loses_little_of_what_clean_lines_get(
    trained: Translator, written: Write, given_back: Write | None
) -> None:
    clean = texts(trained.translate(SOURCES))
    lines = [written(line) for line in SOURCES]
    found = texts(trained.translate(lines))
    if given_back is None:
        assert [" ".join(text.replace("Привет", "").split()) for text in found] == clean
    else:
        assert found == [given_back(text) for text in clean]
    # Without it, less than half as many lines are right.
    assert n_right(clean, EXPECTED) > 30
    never = texts(trained.translate(lines, normalize="never"))
    assert 2 * n_right([text.lower() for text in never], [(given_back or str)(t).lower() for t in EXPECTED]) < 30


def test_a_title_comes_back_as_a_title(trained: Translator) -> None:
    clean = texts(trained.translate(SOURCES))
    assert texts(trained.translate(list(map(title, SOURCES)))) == [
        " ".join(word[:1].upper() + word[1:] for word in text.split()) for text in clean
    ]


def test_a_clean_line_is_translated_as_it_is(trained: Translator) -> None:
    assert trained.translate(SOURCES) == trained.translate(SOURCES, normalize="never")


def test_every_change_is_told(trained: Translator) -> None:
    (found,) = trained.translate(["BA B\u00adE BI 😀 BO."])
    assert found.changes == [
        Change("spaces", "\u00ad", ""),
        Change("pieces", "😀", ""),
        Change("case", "BA BE BI BO.", "Ba be bi bo."),
    ]
    assert (found.translated_as, found.kept, found.parts) == ("Ba be bi bo.", ["😀"], ["Ba be bi bo."])
    (plain,) = trained.translate(["Ba be bi bo."])
    assert (plain.changes, plain.translated_as) == ([], "")


def test_a_line_without_a_word_comes_out_as_it_was(trained: Translator) -> None:
    lines = ["12 345,67", "!" * 30, "a", "--- ***", "1.2.3", "(b)", " 50 % "]
    found = trained.translate(lines)
    assert texts(found) == lines and not any(each.findings for each in found)
    (between,) = trained.translate(["Ba be bi bo. 12345. Da di do ga. 6 / 7!"])
    first, second = texts(trained.translate(["Ba be bi bo.", "Da di do ga."]))
    assert between.text == f"{first} 12345. {second} 6 / 7!"


def test_sentences_end_where_the_line_ends_them_with_marks_that_training_had_not(trained: Translator) -> None:
    first, second = texts(trained.translate(["Ba be bi bo.", "Da di do ga."]))
    for line, expected in [
        ("Ba be bi bo! Da di do ga?", f"{first[:-1]}! {second[:-1]}?"),
        ("Ba be bi bo। Da di do ga۔", f"{first} {second}"),
        ("Ba be bi bo。Da di do ga！", f"{first} {second[:-1]}！"),
        ("Ba be bi bo! da di do ga.", None),  # no end
    ]:
        (found,) = trained.translate([line], alignment=True)
        if expected is None:
            assert len(found.parts) == 1
        else:
            assert (found.text, found.parts) == (expected, ["Ba be bi bo.", "Da di do ga."])
            assert {change.kind for change in found.changes} == {"stops"}
            assert found.hypotheses[0].alignment is not None


def test_only_the_kinds_that_are_named_are_changed(trained: Translator) -> None:
    line = "BA B\u00adE BI 😀 BO."
    for normalize in ("case,pieces", "spaces", "quotes"):
        (found,) = trained.translate([line], normalize=normalize)
        assert {change.kind for change in found.changes} <= set(normalize.split(","))
    with pytest.raises(ConfigError, match="normalize='caps' is not one of auto, never, always, nor of the kinds"):
        trained.translate([], normalize="case,caps")


# --- with other options ---


def test_the_alignment_counts_the_words_of_the_line(trained: Translator) -> None:
    line = "BA BE « BI \u00ad 😀 BO »."
    (found,) = trained.translate([line], alignment=True, n_best=2)
    plain = trained.translate(["Ba be bi bo."], alignment=True)[0].hypotheses[0].alignment
    assert plain == [(0, 0), (1, 1), (2, 2), (3, 3)]
    for hypothesis in found.hypotheses:
        assert hypothesis.alignment is not None
        words = hypothesis.text.split()
        assert all(src < len(line.split()) and tgt < len(words) for src, tgt in hypothesis.alignment)
        assert (line.split().index("😀"), words.index("😀")) in hypothesis.alignment


def test_only_the_sentences_in_capitals_come_back_in_capitals(trained: Translator) -> None:
    first, second = (text.rstrip(".") for text in texts(trained.translate(["Ba be bi bo.", "Da di do ga."])))
    (found,) = trained.translate(["BA BE BI BO. Da di do ga. BA BE BI BO."])
    assert found.text == f"{first.upper()}. {second}. {first.upper()}."
    assert found.parts == ["Ba be bi bo.", "Da di do ga.", "Ba be bi bo."]
    (whole,) = trained.translate(["BA BE BI BO. Da di."], split="never")
    assert whole.changes == []  # one part cannot be given back in two styles


def test_a_translation_begins_with_its_prefix_letter_by_letter(trained: Translator) -> None:
    (found,) = trained.translate(["BA BE BI BO."], prefixes=["Bas"])
    assert found.text.startswith("Bas") and found.changes == []


def test_terms_and_kept_things_have_their_own_letters_in_a_headline(trained: Translator) -> None:
    (found,) = trained.translate(["BA BE {x} BI BO."], keep=["placeholders"], terms={"be": "Gas"}, beam_size=5)
    assert "Gas" in found.text and "{x}" in found.text
    rest = found.text.replace("Gas", "").replace("{x}", "")
    assert rest == rest.upper() and kinds(found) == []


def test_a_line_of_foreign_words_comes_out_as_it_was_and_says_so(trained: Translator) -> None:
    foreign, picture = trained.translate(["  Привет,\u00a0мир! ", "😀 http://a.fr"], alignment=True)
    assert (foreign.text, kinds(foreign), foreign.kept) == (
        "  Привет,\u00a0мир! ",
        ["untranslated"],
        ["Привет,", "мир!"],
    )
    assert (picture.text, kinds(picture)) == ("😀 http://a.fr", [])


def kinds_of_changes(
    trained: Translator, looks: Looks, line: str, normalize: str = "auto", **shares: float
) -> list[str]:
    """What is changed in a line for a model whose training text looked so, and was augmented in these shares."""
    model = trained.models[0]
    data = dataclasses.replace(model.config.data, augment=AugmentConfig(**shares))
    config = dataclasses.replace(model.config, data=data)
    percentiles = {f"{percent:g}": 9 for percent in PERCENTS}
    seen = SeenText(9, percentiles, percentiles, [1.0], looks)
    saved = type(model.saved)(**(vars(model.saved) | {"seen": seen}))
    with Translator([type(model)(model.path, saved, config, model.tokenizer)], trained.engine) as other:
        return [change.kind for change in other.translate([line], normalize=normalize)[0].changes]


def test_what_training_had_often_is_left_alone(trained: Translator) -> None:
    read = partial(kinds_of_changes, trained)
    assert read(Looks({}, 0.01, 0.0), "BA BE BI BO.") == ["case"]
    assert read(Looks({}, 0.3, 0.0), "BA BE BI BO.") == []
    assert read(Looks({}, 0.3, 0.0), "BA BE BI BO.", "case") == ["case"]
    assert read(Looks({}, 0.0, 0.3), "Ba Be Bi Bo.") == []
    assert read(Looks({"'": 0.3}, 0.0, 0.0), "Ba be’bi bo.") == ["quotes", "pieces"]  # then the word is unknown
    assert read(Looks({"'": 0.3, "’": 0.02}, 0.0, 0.0), "Ba be’bi bo.") == ["pieces"]
    assert read(Looks({"😀": 0.01}, 0.0, 0.0), "Ba 😀🚀") == ["pieces"]  # it has no piece all the same


def test_what_a_model_was_trained_for_is_left_alone(trained: Translator) -> None:
    read = partial(kinds_of_changes, trained, Looks({"'": 0.3}, 0.0, 0.0))
    assert read("BA BE BI BO.", upper=0.05) == ["case"]  # it has not learned enough
    assert read("BA BE BI BO.", upper=0.3) == []
    assert read("Ba Be Bi Bo.", title=0.3) == []
    assert read("Ba be ‘bi’ bo.")[:1] == ["quotes"]
    assert "quotes" not in read("Ba be ‘bi’ bo.", quotes=0.05)
    assert "quotes" in read("Ba be ‘bi’ bo.", "always", quotes=0.05)
    assert read("Ba be\u00adbi bo.") == ["spaces"]
    assert "spaces" not in read("Ba be\u00adbi bo.", spaces=0.05)


def test_a_source_is_scored_as_it_is_translated(trained: Translator) -> None:
    pairs = [("Ba b\u00ade bi.", "Bas Bes Bis."), ("BA BE BI.", "Bas Bes Bis."), ("Ba be bi.", "Bas Bes Bis.")]
    soft, capitals, plain = trained.score(pairs)
    assert soft.log_prob == pytest.approx(plain.log_prob, abs=1e-4)
    assert soft.changes == [Change("spaces", "\u00ad", "")]
    assert capitals.log_prob < plain.log_prob - 1 and capitals.changes == []
