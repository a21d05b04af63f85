import json
import logging
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu

from seq2seq.config.evaluation import TOKENIZERS
from seq2seq.errors import TranslationError
from seq2seq.evaluation.over_seeds import RecipeScores, recipe_tests
from seq2seq.evaluation.scores import (
    METRICS,
    PLAIN,
    Interval,
    Scoring,
    _say_once,
    bleu_tokens,
    check_before_work,
    corpus_scores,
    difference_interval,
    report,
    resampled,
    scorer_of,
)
from tests.sacrebleu_program import printed_by_sacrebleu

HAS_JAPANESE, HAS_KOREAN = (find_spec(name) is not None for name in ("MeCab", "mecab_ko"))
TOKENS_OF_JAPANESE = "ja-mecab" if HAS_JAPANESE else "char"
TOKENS_OF_KOREAN = "ko-mecab" if HAS_KOREAN else "13a"
HYPOTHESES = [
    "A man in a blue shirt is standing on a ladder cleaning a window.",
    "Two young, White males are outside near many bushes!",
    "",
    "The cat sits on the mat, doesn't it?",
    "Une élève s'en va à l'école.",
]
REFERENCES = [
    "A man in a blue shirt stands on a ladder and cleans the window.",
    "Two young, white males are outside near many bushes.",
    "A blank answer scores nothing.",
    "Isn't the cat sitting on the mat?",
    "Une élève va à l’école.",
]


def test_brevity_penalty_and_precisions_of_papineni_2002_are_in_the_score() -> None:
    # By hand, formulas of Papineni et al. 2002, section 2.3: 5 of 6 words, 3 of 5 pairs, 2 of 4 triples and
    # 1 of 3 quadruples match; 6 words for 7 give exp(1 - 7 / 6).
    score = corpus_scores(["the cat is on a mat"], ["the cat is on the red mat"], ["bleu"])["bleu"].score
    precisions = (5 / 6) * (3 / 5) * (2 / 4) * (1 / 3)
    assert score == pytest.approx(100 * precisions**0.25 * 2.718281828 ** (1 - 7 / 6), abs=1e-6)


def test_repeating_a_word_is_clipped_as_in_example_2_of_papineni_2002() -> None:
    # 2 of 7 words; longer n-grams match nothing, and sacreBLEU counts 1/2, 1/4, 1/8 of one (`smooth:exp`).
    scores = corpus_scores(["the the the the the the the"], ["the cat is on the mat ."], ["bleu"])
    precisions = (2 / 7) * (1 / 2 / 6) * (1 / 4 / 5) * (1 / 8 / 4)
    assert scores["bleu"].score == pytest.approx(100 * precisions**0.25, abs=1e-6)


OPTIONS = {
    "bleu": ["-m", "bleu"],
    "chrf": ["-m", "chrf"],
    "chrf++": ["-m", "chrf", "--chrf-word-order", "2"],
    "ter": ["-m", "ter"],
}
WITHOUT_CASE = {"bleu": ["--lowercase"], "chrf": ["--chrf-lowercase"], "chrf++": ["--chrf-lowercase"], "ter": []}


def written(folder: Path, **texts: Sequence[str]) -> list[Path]:
    """A file for each text, with a sentence a line."""
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [folder / name for name in texts]


@pytest.mark.parametrize("ignore_case", [False, True])
@pytest.mark.parametrize("metric", OPTIONS)
def test_score_and_signature_are_those_of_the_sacrebleu_command(metric: str, ignore_case: bool, tmp_path: Path) -> None:
    texts = [text.upper() for text in HYPOTHESES] if ignore_case else HYPOTHESES
    options = [*OPTIONS[metric], *(WITHOUT_CASE[metric] if ignore_case else [])]
    hypotheses, references = written(tmp_path, hypotheses=texts, references=REFERENCES)
    printed = json.loads(printed_by_sacrebleu(references, "-i", hypotheses, *options, "-w", 8))
    score = corpus_scores(texts, REFERENCES, [metric], Scoring(ignore_case=ignore_case))[metric]
    assert (round(score.score, 8), score.signature) == (printed["score"], printed["signature"])


SECOND = ["A man cleans a window.", "", "  ", "The cat is on the mat, isn't it?", ""]
THIRD = ["", "Two young men are outside.", "", "A cat sits on the mat.", ""]


@pytest.mark.parametrize("metric", ["bleu", "chrf", "chrf++", "ter"])
def test_several_references_are_those_of_sacrebleu_and_blank_ones_are_missing(metric: str) -> None:
    theirs = {
        "bleu": sacrebleu.BLEU(),
        "chrf": sacrebleu.CHRF(),
        "chrf++": sacrebleu.CHRF(word_order=2),
        "ter": sacrebleu.TER(),
    }
    streams = [REFERENCES, *([line if line.strip() else None for line in each] for each in (SECOND, THIRD))]
    expected = theirs[metric].corpus_score(HYPOTHESES, streams)  # type: ignore[arg-type]
    references = list(zip(REFERENCES, SECOND, THIRD, strict=True))
    score = corpus_scores(HYPOTHESES, references, [metric])[metric]
    assert (score.score, score.signature) == (expected.score, str(theirs[metric].get_signature()))
    assert score.signature.startswith("nrefs:var|")
    assert report(HYPOTHESES, references, [metric], n_samples=2)[metric].score == pytest.approx(expected.score)
    compared = recipe_tests([[HYPOTHESES], [HYPOTHESES]], references, [metric], n_samples=2)[metric]
    assert compared[1].together.score == pytest.approx(expected.score)
    # The trap: for sacreBLEU itself a blank line is a reference, of no words.
    with_blanks = theirs[metric].corpus_score(HYPOTHESES, [REFERENCES, SECOND, THIRD])
    assert metric == "chrf" or metric == "chrf++" or with_blanks.score != expected.score


def test_the_legacy_score_takes_several_references() -> None:
    words, others = ["a b c d e", "f g h i"], ["a b c x e", ""]
    hypotheses = ["a b c x e", "f g h i"]
    (score,) = corpus_scores(
        hypotheses, list(zip(words, others, strict=True)), ["bleu_legacy_tok"], Scoring("en")
    ).values()
    assert score.score == pytest.approx(100)
    assert corpus_scores(hypotheses, words, ["bleu_legacy_tok"], Scoring("en"))["bleu_legacy_tok"].score < 90


def test_a_sentence_whose_references_are_all_blank_counts_as_one_blank_reference() -> None:
    several = corpus_scores(["a b c d", "x"], [["a b c d", "a b"], ["", " "]], METRICS, Scoring("en"))
    assert several["bleu"].score == corpus_scores(["a b c d", "x"], [["a b c d", "a b"], [""]])["bleu"].score


@pytest.mark.parametrize(
    ("references", "tokens"),
    [
        (["医生看见面包。", "The doctor"], "13a"),  # a name of others is no reason
        (["医生看见面包。", "他来了。", "OK"], "zh"),
        (["医者はパンを見ます。", "学生"], TOKENS_OF_JAPANESE),
        (["หมอเห็นขนมปังทุกเช้า"], "char"),
        ([["", "คุณมา"], ["ฉันไป"]], "char"),
        (["डॉक्टर रोटी देखता है।"], "13a"),
    ],
)
def test_bleu_has_tokens_that_suit_the_script(references: list[Any], tokens: str) -> None:
    hypotheses = ["他看见医生每天"] * len(references)
    score = corpus_scores(hypotheses, references, ["bleu"])["bleu"]
    assert f"|tok:{tokens}" in score.signature
    known = [each if isinstance(each, str) else each[-1] for each in references]
    assert score.score == sacrebleu.corpus_bleu(hypotheses, [known], tokenize=tokens).score


TOKENS = {
    "zh": "zh",
    "zh-TW": "zh",
    "zho_Hans": "zh",
    "cmn": "zh",
    "yue": "zh",
    "ja": TOKENS_OF_JAPANESE,
    "jpn_Jpan": TOKENS_OF_JAPANESE,
    "ko": TOKENS_OF_KOREAN,
    "kor_Hang": TOKENS_OF_KOREAN,
    **dict.fromkeys(("th", "tha_Thai", "km", "khm", "lo", "my", "mya_Mymr", "bo", "dz"), "char"),
    **dict.fromkeys(("fr", "en", "hi", "vi", "ar", "ru", "jv", "kok"), "13a"),
}


@pytest.mark.parametrize("language", TOKENS)
def test_bleu_has_tokens_of_the_language_whatever_the_script_looks_like(language: str) -> None:
    assert bleu_tokens(language) == TOKENS[language]
    signature = corpus_scores(["a b"], ["a b"], ["bleu"], Scoring(language))["bleu"].signature
    assert f"|tok:{TOKENS[language]}" in signature  # MeCab's signature goes on with its version


NEAR_PERFECT = {
    "zh": (["医生每天早上看见米饭。", "老师星期天卖牛奶。"], ["医生每天早上看见面包。", "老师星期天卖牛奶。"]),
    "ja": (
        ["医者は毎朝パンを見ました。", "先生は日曜日に牛乳を売ります。"],
        ["医者は毎朝パンを見ます。", "先生は日曜日に牛乳を売ります。"],
    ),
    "ko": (
        ["그 의사는 매일 아침 새로 구운 빵을 가게에서 샀습니다.", "선생님은 일요일에 시장에서 우유를 팝니다."],
        ["그 의사는 매일 아침 새로 구운 빵을 가게에서 삽니다.", "선생님은 일요일에 시장에서 우유를 팝니다."],
    ),
    "th": (["หมอเห็นข้าวทุกเช้า", "ครูขายนมวันอาทิตย์"], ["หมอเห็นขนมปังทุกเช้า", "ครูขายนมวันอาทิตย์"]),
    "fr": (
        ["Le médecin voit du riz chaque matin.", "Le professeur vend du lait le dimanche."],
        ["Le médecin voit du pain chaque matin.", "Le professeur vend du lait le dimanche."],
    ),
}


@pytest.mark.parametrize("language", NEAR_PERFECT)
def test_scores_of_near_perfect_translations_are_high_and_those_of_the_sacrebleu_command(
    language: str, tmp_path: Path
) -> None:
    hypotheses, references = NEAR_PERFECT[language]
    hyp, ref = written(tmp_path, hyp=hypotheses, ref=references)
    asian = ("--ter-asian-support", "--ter-normalized") if language in ("zh", "ja") else ()
    for metric, options in (("bleu", ("--tokenize", TOKENS[language])), ("chrf", ()), ("ter", asian)):
        printed = json.loads(printed_by_sacrebleu(ref, "-i", hyp, "-m", metric, "-w", 8, *options))
        score = corpus_scores(hypotheses, references, [metric], Scoring(language))[metric]
        assert (round(score.score, 8), score.signature) == (printed["score"], printed["signature"])
        by_script = corpus_scores(hypotheses, references, [metric])[metric]
        assert by_script == score or (language, metric) == ("ko", "bleu")  # Korean has spaces, as far as one sees
        if (language, metric) != ("th", "ter"):
            assert 60 < (100 - score.score if metric == "ter" else score.score) < 100


def test_tokens_are_those_that_are_asked_for_in_every_score() -> None:
    hypotheses, references = NEAR_PERFECT["fr"]
    expected = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="char").score
    found = corpus_scores(hypotheses, references, ["bleu", "chrf"], Scoring("fr", "char"))
    assert (
        found["bleu"].score == expected != corpus_scores(hypotheses, references, ["bleu"], Scoring("fr"))["bleu"].score
    )
    assert found["chrf"] == corpus_scores(hypotheses, references, ["chrf"], Scoring("fr"))["chrf"]
    intervals = report(hypotheses, references, ["bleu"], 10, Scoring("fr", "char"))
    scoring = Scoring("fr", "char")
    paired = recipe_tests([[hypotheses], [hypotheses]], references, ["bleu"], scoring=scoring, n_samples=10)
    theirs, ours = (each.together for each in paired["bleu"])
    assert intervals["bleu"].score == theirs.score == pytest.approx(expected)
    assert all("|tok:char|" in each.signature for each in (found["bleu"], intervals["bleu"], ours))


def test_the_key_and_the_options_have_the_tokens_of_sacrebleu() -> None:
    assert {"auto", *sacrebleu.BLEU.TOKENIZERS} - {"spm"} == set(TOKENIZERS)  # spm is an old name of flores101


def test_tokens_that_are_unknown_or_not_installed_are_refused_in_a_sentence() -> None:
    with pytest.raises(TranslationError, match=r"^sacreBLEU has no tokens 'mecab'; choose from none, zh, 13a, .*char"):
        check_before_work("mecab")
    for is_there, tokens in ((HAS_JAPANESE, "ja-mecab"), (HAS_KOREAN, "ko-mecab")):
        if not is_there:
            with pytest.raises(TranslationError) as refused:
                check_before_work(tokens)
            assert str(refused.value) == f"the tokens {tokens} of BLEU need pip install 'sacrebleu[{tokens[:2]}]'"


@pytest.mark.skipif(HAS_JAPANESE, reason="sacrebleu[ja] is installed")
def test_japanese_without_its_dictionary_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    _say_once.cache_clear()
    for _ in range(2):
        corpus_scores(*NEAR_PERFECT["ja"], ["bleu"], Scoring("ja"))
    (record,) = caplog.records
    assert record.getMessage() == (
        "BLEU of ja has the tokens char: the tokens ja-mecab of BLEU need pip install 'sacrebleu[ja]'"
    )


@pytest.mark.parametrize(("language", "tokenize"), [("en", "auto"), ("zh", "13a"), ("th", "intl")])
def test_text_almost_without_spaces_that_is_split_at_spaces_is_pointed_out_once(
    language: str, tokenize: str, caplog: pytest.LogCaptureFixture
) -> None:
    _say_once.cache_clear()
    hypotheses, references = NEAR_PERFECT["th" if language == "th" else "zh"]
    for _ in range(2):
        corpus_scores(hypotheses, references, ["bleu"], Scoring(language, tokenize))
    (record,) = caplog.records
    assert record.getMessage().startswith("the references have almost no spaces, and BLEU splits at spaces; choose ")


def test_spaced_text_and_fitting_tokens_are_no_reason_to_warn(caplog: pytest.LogCaptureFixture) -> None:
    _say_once.cache_clear()
    spaced = [" ".join(line) for line in NEAR_PERFECT["zh"][1]]
    corpus_scores(spaced, spaced, ["bleu"], Scoring("zh", "none"))
    corpus_scores(*NEAR_PERFECT["fr"], ["bleu"], Scoring("fr"))
    for language in ("zh", "th"):
        corpus_scores(*NEAR_PERFECT[language], ["bleu"], Scoring(language))
        corpus_scores(*NEAR_PERFECT[language], ["chrf", "ter"], Scoring("en"))
    assert not caplog.records


@pytest.mark.parametrize("seed", ["abc", "-1", "1.5", "", "²"])
def test_a_seed_that_is_none_is_a_sentence(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    message = f"SACREBLEU_SEED='{seed}' is neither a whole number nor none; set it so, or unset it"
    for make in (
        lambda: check_before_work("auto"),
        lambda: report(HYPOTHESES, REFERENCES),
        lambda: recipe_tests([[HYPOTHESES], [OTHERS]], REFERENCES, ["bleu"]),
    ):
        with pytest.raises(TranslationError) as refused:
            make()
        assert str(refused.value) == message


@pytest.mark.parametrize(
    ("hypothesis", "reference", "asian"),
    [
        ("医生每天早上看见米饭。", "医生每天早上看见面包。", True),
        ("医者はパンを見た。", "医者はパンを見ます。", True),
        ("หมอเห็นขนมปัง", "หมอเห็นขนมปังทุกเช้า", False),  # of which sacreBLEU knows no characters
        ("The doctor sees it.", "The doctor sees bread.", False),
    ],
)
def test_edits_of_chinese_and_japanese_are_of_characters(hypothesis: str, reference: str, asian: bool) -> None:
    found = corpus_scores([hypothesis], [reference], ["ter"])["ter"]
    assert f"|norm:{'yes' if asian else 'no'}|punct:yes|asian:{'yes' if asian else 'no'}|" in found.signature
    expected = sacrebleu.corpus_ter([hypothesis], [[reference]], normalized=asian, asian_support=asian)
    assert found.score == expected.score
    assert (found.score < 50) == (asian or "doctor" in reference)


def test_blank_hypotheses_score_nothing() -> None:
    scores = report(["", ""], REFERENCES[:2], METRICS, 10, Scoring("en"))
    assert [scores[name].score for name in METRICS] == [0, 0, 0, 100, 0]  # TER: every word is missing
    assert (scores["bleu"].mean, scores["bleu"].half_width) == (0, 0)


@pytest.mark.parametrize(("n_hypotheses", "n_references"), [(3, 5), (5, 3), (0, 5)])
def test_different_numbers_of_sentences_are_refused_with_both_numbers(n_hypotheses: int, n_references: int) -> None:
    message = f"{n_hypotheses} hypotheses for {n_references} references"
    with pytest.raises(TranslationError, match=message):
        corpus_scores(HYPOTHESES[:n_hypotheses], REFERENCES[:n_references])
    with pytest.raises(TranslationError, match=message):
        report(HYPOTHESES[:n_hypotheses], REFERENCES[:n_references])


def test_no_sentences_and_unknown_metrics_are_refused() -> None:
    with pytest.raises(TranslationError, match="no sentences"):
        corpus_scores([], [])
    with pytest.raises(
        TranslationError, match="'meteor' is not a metric; choose from bleu, chrf, chrf\\+\\+, ter, bleu"
    ):
        corpus_scores(HYPOTHESES, REFERENCES, ["meteor"])


def test_legacy_bleu_has_no_smoothing_and_no_case_and_splits_as_moses_does() -> None:
    # By hand: of `l' homme n' a rien .`, 5 of 6 tokens, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples match.
    score = corpus_scores(["L'homme n’a rien."], ["l’homme n'a pas."], ["bleu_legacy_tok"], Scoring("fr-CA"))[
        "bleu_legacy_tok"
    ]
    assert score.score == pytest.approx(100 * ((5 / 6) * (3 / 5) * (2 / 4) * (1 / 3)) ** 0.25)
    score = corpus_scores(["Une femme assise."], ["Un homme assis."], ["bleu_legacy_tok"], Scoring("fr"))[
        "bleu_legacy_tok"
    ]
    assert score.score == 0  # no quadruple matches; sacreBLEU's smoothing would count a part of one


def test_anything_but_a_list_of_strings_is_refused() -> None:
    with pytest.raises(TypeError, match="hypotheses is one string"):
        corpus_scores("a b", "a b")
    with pytest.raises(TypeError, match=r"hypotheses\[1\] is a NoneType"):
        corpus_scores(["a", None], ["a", "b"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"references\[1\] is a NoneType"):
        corpus_scores(["a", "b"], [["a"], ["b", None]])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"hypotheses\[0\] is a list"):
        corpus_scores([["a"]], ["a"])  # type: ignore[list-item]


def test_the_bootstrap_interval_is_that_of_the_sacrebleu_command(tmp_path: Path) -> None:
    hypotheses, references = written(tmp_path, hypotheses=HYPOTHESES, references=REFERENCES)
    words = (references, "-i", hypotheses, "-w", 6, "--confidence", "--confidence-n", 200)
    printed = json.loads(printed_by_sacrebleu(*words))
    interval = report(HYPOTHESES, REFERENCES, ["bleu"], n_samples=200)["bleu"]
    assert round(interval.mean, 6) == printed["confidence_mean"]
    assert round(interval.half_width, 6) == printed["confidence_var"]
    assert interval.signature == printed["signature"]
    assert "bs:200|seed:12345" in interval.signature


def test_a_report_has_an_interval_for_each_score() -> None:
    found = report(HYPOTHESES, REFERENCES, METRICS, 50, Scoring("en"))
    plain = corpus_scores(HYPOTHESES, REFERENCES, METRICS, Scoring("en"))
    assert list(found) == list(METRICS)
    for name, interval in found.items():
        assert interval == report(HYPOTHESES, REFERENCES, [name], 50, Scoring("en"))[name]
        assert interval.score == plain[name].score
        assert interval.signature.replace("|bs:50|seed:12345", "") == plain[name].signature
        assert abs(interval.mean - interval.score) < 2 * interval.half_width
    assert list(report(HYPOTHESES, REFERENCES, n_samples=2)) == ["bleu", "chrf"]


OTHERS = [*REFERENCES[:2], "Something else.", *HYPOTHESES[3:]]


@pytest.mark.parametrize("metric", OPTIONS)
def test_a_paired_test_is_that_of_the_sacrebleu_command(metric: str, tmp_path: Path) -> None:
    ref, base, other = written(tmp_path, ref=REFERENCES, base=HYPOTHESES, other=OTHERS)
    # Its JSON cannot hold the 32-bit floats of TER, so its table is read.
    options = ("-w", 6, "--paired-bs", "--paired-bs-n", 300, "--format", "text")
    printed = printed_by_sacrebleu(ref, "-i", base, other, *OPTIONS[metric], *options)
    number = r"(\d+\.\d+)"
    scores = re.findall(rf"{number} \({number} ± {number}\)", printed)
    p_value, signature = re.search(r"p = (\d\.\d+)", printed), re.search(r"nrefs:\S+", printed)
    found = recipe_tests([[HYPOTHESES], [OTHERS]], REFERENCES, [metric], scoring=Scoring("en"), n_samples=300)[metric]
    assert [in_print(each.together) for each in found] == scores
    assert p_value is not None and f"{found[1].p_value:.4f}" == p_value[1]
    assert signature is not None and {each.together.signature for each in found} == {signature[0]}


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_approximate_randomisation_is_that_of_the_sacrebleu_command(metric: str, tmp_path: Path) -> None:
    ref, *files = written(tmp_path, ref=REFERENCES, base=HYPOTHESES, other=OTHERS, third=REFERENCES)
    options = ("-m", metric, "--paired-ar", "--paired-ar-n", 300, "--format", "text")
    printed = printed_by_sacrebleu(ref, "-i", *files, *options)
    expected = re.findall(r"p = (\d\.\d+)", printed)
    texts = (HYPOTHESES, OTHERS, REFERENCES)
    found = recipe_tests([[each] for each in texts], REFERENCES, [metric], "ar", n_samples=300)[metric]
    assert [f"{each.p_value:.4f}" for each in found[1:]] == expected and len(expected) == 2
    assert [each.together for each in found] == [report(each, REFERENCES, [metric])[metric] for each in texts]


def test_several_systems_are_tested_as_each_of_them_alone() -> None:
    def tested(*systems: list[str]) -> dict[str, list[RecipeScores]]:
        return recipe_tests([[each] for each in systems], REFERENCES, METRICS, scoring=Scoring("en"), n_samples=50)

    found = tested(HYPOTHESES, OTHERS, REFERENCES, HYPOTHESES)
    for number, system in enumerate([OTHERS, REFERENCES, HYPOTHESES], start=1):
        for metric, (first, alone) in tested(HYPOTHESES, system).items():
            assert (found[metric][0], found[metric][number]) == (first, alone)


def test_tests_without_a_seed_see_the_same_resamples_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    (first, same), (other, _) = (
        recipe_tests([[HYPOTHESES], [HYPOTHESES]], REFERENCES, ["bleu"], n_samples=20)["bleu"] for _ in range(2)
    )
    assert first.together == same.together != other.together and "|seed:none|" in same.together.signature


def in_print(interval: Interval) -> tuple[str, str, str]:
    return f"{interval.score:.6f}", f"{interval.mean:.6f}", f"{interval.half_width:.6f}"


def test_an_interval_of_differences_is_that_of_whole_texts_scored_anew() -> None:
    rng = np.random.default_rng(12345)
    differences = []
    for _ in range(40):
        chosen = rng.choice(len(HYPOTHESES), len(HYPOTHESES))
        references = [REFERENCES[i] for i in chosen]
        theirs, ours = (
            corpus_scores([texts[i] for i in chosen], references)["bleu"].score for texts in (OTHERS, HYPOTHESES)
        )
        differences.append(ours - theirs)
    before, after = resampled(scorer_of("bleu", REFERENCES, PLAIN), [OTHERS, HYPOTHESES], 40)
    low, high = difference_interval(before, after)
    assert (low, high) == pytest.approx(tuple(np.percentile(differences, [2.5, 97.5])), abs=1e-3)
    assert low < high
    assert difference_interval(before, before) == (0.0, 0.0)


def test_a_paired_test_refuses_what_is_not_parallel() -> None:
    for texts in ([[HYPOTHESES[:3]], [HYPOTHESES]], [[HYPOTHESES], [HYPOTHESES[:3]]]):
        with pytest.raises(TranslationError, match="there are 3 hypotheses for 5 references"):
            recipe_tests(texts, REFERENCES, ["bleu"])


def test_a_paired_test_logs_no_progress_and_leaves_logging_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("sacrebleu")
    with caplog.at_level(logging.INFO, "sacrebleu"):
        recipe_tests([[HYPOTHESES], [OTHERS]], REFERENCES, ["bleu"], "ar", n_samples=2)
        assert not caplog.records
        assert logger.level == logging.INFO
    assert logger.level == logging.NOTSET


def test_tokens_are_advised_against_only_where_references_are_text(caplog: pytest.LogCaptureFixture) -> None:
    tokens, text = ["A red cat sleeps ."] * 100, ["A red cat sleeps."] * 100
    assert corpus_scores(tokens, tokens)["bleu"].score == pytest.approx(100)
    assert not caplog.records
    corpus_scores(tokens, text)
    assert "forgot to detokenize" in caplog.text
