import gzip

import pytest
import sacrebleu

from seq2seq.evaluation.legacy_tokens import moses_tokens
from seq2seq.evaluation.scores import Scoring, corpus_scores
from tests.places import SHARED

MULTI30K = SHARED / "multi30k"
needs_multi30k = pytest.mark.skipif(not MULTI30K.is_dir(), reason=f"no corpus in {MULTI30K}")


def lines(name: str) -> list[str]:
    return gzip.decompress((MULTI30K / f"{name}.gz").read_bytes()).decode().split("\n")[:-1]


@pytest.mark.parametrize(
    ("language", "sentence", "expected"),
    [
        ("fr", "L’herbe verte, « là » !", "l&apos; herbe verte , &quot; là &quot; !"),
        ("en", "The man's hat isn't on & he WAVES.", "the man &apos;s hat isn &apos;t on &amp; he waves ."),
        ("fr", 'Il dit "non."', "il dit &quot; non &quot; ."),  # a rule that needs the end of the line
        ("fr", "Un coup d’œil", "un coup d &quot; œil"),  # a fault of the Perl scripts
        ("de", "Für 3,5 Euro geht's los.", "für 3,5 euro geht &apos; s los ."),
        ("tlh", "Qapla' tera'ngan.", "qapla &apos; tera &apos; ngan ."),  # no rules: an apostrophe stands alone
        ("en", "", ""),
    ],
)
def test_punctuation_case_and_tokens_are_those_of_the_perl_scripts(language: str, sentence: str, expected: str) -> None:
    assert moses_tokens(language)(sentence) == expected


TRAIN = pytest.param("train", 29_000, marks=pytest.mark.nightly)


@needs_multi30k
@pytest.mark.parametrize(("split", "n_lines"), [TRAIN, ("val", 1_014), ("test_2016_flickr", 1_000)])
@pytest.mark.parametrize("language", ["fr", "en"])
def test_raw_multi30k_becomes_the_official_tokenised_files(split: str, n_lines: int, language: str) -> None:
    raw, official = lines(f"{split}.{language}"), lines(f"tok/{split}.lc.norm.tok.{language}")
    assert len(raw) == n_lines
    found = map(moses_tokens(language), raw)
    assert [pair for pair in zip(found, official, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.slow
@needs_multi30k
@pytest.mark.parametrize("language", ["fr", "en"])
def test_legacy_bleu_of_raw_text_is_plain_bleu_of_the_official_tokens(language: str) -> None:
    raw = lines(f"test_2016_flickr.{language}")
    official = lines(f"tok/test_2016_flickr.lc.norm.tok.{language}")
    plain = sacrebleu.BLEU(tokenize="none", lowercase=True, smooth_method="none", force=True)
    expected = plain.corpus_score(every_third_is_another(official), [official]).score
    assert 50 < expected < 90
    found = corpus_scores(every_third_is_another(raw), raw, ["bleu_legacy_tok"], Scoring(language))["bleu_legacy_tok"]
    assert found.score == pytest.approx(expected, abs=1e-9)
    assert f"|tok:moses-{language}+norm-" in found.signature

    tokenised = corpus_scores(every_third_is_another(official), official, ["bleu_legacy_tok"], Scoring(language))
    assert tokenised["bleu_legacy_tok"].score == pytest.approx(expected, abs=1e-9)
    assert tokenised["bleu_legacy_tok"].signature == str(plain.get_signature())


def every_third_is_another(sentences: list[str]) -> list[str]:
    """Translations of a sort, in which some sentences are those of the next line."""
    return [sentences[(i + (i % 3 == 0)) % len(sentences)] for i in range(len(sentences))]


def test_tokens_are_scored_as_they_are_but_for_case() -> None:
    tokens = ["l&apos; herbe est verte .", "il n&apos; y a rien ."]
    score = corpus_scores([line.upper() for line in tokens], tokens, ["bleu_legacy_tok"], Scoring("fr"))[
        "bleu_legacy_tok"
    ]
    assert score.score == pytest.approx(100)
    assert "case:lc" in score.signature and "|tok:none|" in score.signature
