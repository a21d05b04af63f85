"""Segmentations that are drawn, against SentencePiece and against all segmentations with their exact chances."""

import math
import pickle
import random
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from itertools import pairwise

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from seq2seq import segmentation
from seq2seq.config import TokenizerConfig
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer
from tests.places import ROOT, SHARED

RULES = ("nmt_nfkc", "identity")
PARTS = ("cha", "té", "sou", "ris", "mai", "son", "où", "l'é", "the", "bl", "ack")
RATES = {"bpe": 0.3, "unigram": 0.2}
any_text = st.text(st.characters(exclude_categories=["Cs"])) | st.text("chasourimte ▁éb�😀\n\u00a0", max_size=80)


def words(seed: int, n: int = 6) -> str:
    rng = random.Random(seed)
    return " ".join("".join(rng.choices(PARTS, k=3)) for _ in range(n))


@lru_cache
def trained(model_type: str, rule: str = "nmt_nfkc", tags: tuple[str, ...] = ()) -> Tokenizer:
    config = TokenizerConfig(vocab_size=330, model_type=model_type, normalization=rule)
    return Tokenizer.train([words(seed) for seed in range(300)], config, tags)


def drawn(tokenizer: Tokenizer, rate: float, text: str, seed: int) -> list[int]:
    return RandomSegmentation(tokenizer, rate)(text, random.Random(seed).random)


@pytest.mark.parametrize("rule", RULES)
@given(text=any_text)
def test_without_dropout_bpe_is_that_of_sentencepiece(rule, text):
    tokenizer = trained("bpe", rule)
    assert drawn(tokenizer, 0.0, text, 1) == tokenizer.encode([text])[0]


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="no corpora beside the project")
@pytest.mark.parametrize("rule", RULES)
def test_without_dropout_bpe_is_that_of_sentencepiece_on_news(rule):
    lines = [
        line
        for name in ("newstest2010.fr", "newstest2011.en")
        for line in (SHARED / "news" / name).read_text(encoding="utf-8").split("\n")[:1000]
    ]
    config = TokenizerConfig(vocab_size=2000, normalization=rule)
    tokenizer = Tokenizer.train([line for line in lines[::3] if line], config)
    segment = RandomSegmentation(tokenizer, 0.0)
    assert [segment(line, random.random) for line in lines] == tokenizer.encode(lines)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model_type", RATES)
@given(text=any_text, rate=st.floats(0, 0.99), seed=st.integers())
def test_every_segmentation_decodes_to_the_same_text(model_type, rule, text, rate, seed):
    tokenizer = trained(model_type, rule, tags=("law",))
    ids = drawn(tokenizer, rate, text, seed)
    assert tokenizer.decode([ids]) == tokenizer.decode(tokenizer.encode([text]))
    assert all(i > 4 for i in ids)  # neither special ids nor the tag


@pytest.mark.parametrize("model_type", RATES)
def test_a_tag_in_a_text_is_text(model_type):
    tokenizer = trained(model_type, tags=("law",))
    text = "<tag:law> </s> <0x41> chaté"
    for seed in range(20):
        ids = drawn(tokenizer, 0.1, text, seed)
        assert tokenizer.decode([ids]) == [text]
        assert min(ids) > 4


def chances_of_merges(text: str, scores: dict[str, float], rate: float) -> dict[tuple[str, ...], float]:
    """Chances of all segmentations: of the pairs that had no turn yet, the best one is merged or not."""
    found: dict[tuple[str, ...], float] = {}

    def visit(spans: tuple[tuple[int, int], ...], done: frozenset[tuple[int, int, int]], chance: float) -> None:
        pairs = [(b, m, e) for (b, m), (_, e) in pairwise(spans) if (b, m, e) not in done]
        ranked = [(-scores[text[b:e]], b, m, e) for b, m, e in pairs if text[b:e] in scores]
        if not ranked:
            pieces = tuple(text[b:e] for b, e in spans)
            found[pieces] = found.get(pieces, 0.0) + chance
            return
        _, b, m, e = min(ranked)
        merged = tuple(span for span in spans if span[1] <= b or span[0] >= e)
        visit(spans, done | {(b, m, e)}, chance * rate)
        visit(tuple(sorted([*merged, (b, e)])), done, chance * (1 - rate))

    visit(tuple((i, i + 1) for i in range(len(text))), frozenset(), 1.0)
    return found


def chances_of_paths(word: str, scores: dict[str, float], alpha: float) -> dict[tuple[str, ...], float]:
    """Chances of all segmentations: the product of their pieces', to the power of alpha."""
    unknown = min(scores.values()) - 10

    def paths(rest: str) -> list[tuple[tuple[str, ...], float]]:
        if not rest:
            return [((), 0.0)]
        found = []
        for end in range(1, len(rest) + 1):
            score = scores.get(rest[:end], unknown if end == 1 else None)
            if score is not None:
                found += [((rest[:end], *pieces), score + others) for pieces, others in paths(rest[end:])]
        return found

    weights = {pieces: math.exp(alpha * score) for pieces, score in paths(word)}
    total = sum(weights.values())
    return {pieces: weight / total for pieces, weight in weights.items()}


def is_unlikely(statistic: float, freedom: int) -> bool:
    """Whether chi-square is beyond what one test in a million reaches (Wilson and Hilferty 1931)."""
    cube_root = (statistic / freedom) ** (1 / 3)
    return (cube_root - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom)) > 4.75


def chi_square(counts: list[tuple[float, float]]) -> tuple[float, int]:
    """Of counts and what was expected; counts below 10 are added up."""
    large = [each for each in counts if each[1] >= 10]
    rest = [each for each in counts if each[1] < 10]
    large += [(sum(a for a, _ in rest), sum(b for _, b in rest))] if rest else []
    return sum((a - b) ** 2 / max(b, 1e-9) for a, b in large), max(1, len(large) - 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model_type", "rate"), [("bpe", 0.1), ("bpe", 0.5), ("unigram", 0.1), ("unigram", 0.5), ("unigram", 2.0)]
)
def test_segmentations_have_their_exact_chances(model_type, rate):
    tokenizer = trained(model_type)
    scores = {piece: score for piece, (_, score) in tokenizer.subwords().items()}
    segment, draw, n = RandomSegmentation(tokenizer, rate), random.Random(5).random, 6000
    for word in ("▁souris", "▁maiblack", "▁chaQté"):  # no piece has a Q
        chances = chances_of_merges(word, scores, rate) if model_type == "bpe" else chances_of_paths(word, scores, rate)
        assert abs(sum(chances.values()) - 1) < 1e-9
        ids = {pieces: tuple(ids_of(tokenizer, pieces)) for pieces in chances}
        counts = Counter(tuple(segment(word[1:], draw)) for _ in range(n))
        assert set(counts) <= set(ids.values())
        assert not is_unlikely(*chi_square([(counts[ids[each]], n * chances[each]) for each in chances]))


def ids_of(tokenizer: Tokenizer, pieces: tuple[str, ...]) -> list[int]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    spelled = [[piece] if piece != "Q" else ["<0x51>"] for piece in pieces]
    return [processor.piece_to_id(piece) for each in spelled for piece in each]


@pytest.mark.nightly
@pytest.mark.parametrize(("model_type", "rate"), [("bpe", 0.1), ("bpe", 0.4), ("unigram", 0.2), ("unigram", 0.7)])
def test_segmentations_are_distributed_as_those_of_sentencepiece(model_type, rate):
    """Its random numbers differ in each process, whatever the seed: one of 100,000 runs fails by chance."""
    tokenizer, n = trained(model_type), 5000
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)
    segment, draw = RandomSegmentation(tokenizer, rate), random.Random(3).random
    for text in ("chaté l'éblack", "sou😀ris"):
        ours = Counter(tuple(segment(text, draw)) for _ in range(n))
        theirs = Counter(
            tuple(processor.encode(text, enable_sampling=True, nbest_size=-1, alpha=rate)) for _ in range(n)
        )
        statistic, freedom = chi_square([(ours[ids], (ours[ids] + theirs[ids]) / 2) for ids in ours | theirs])
        assert not is_unlikely(2 * statistic, freedom)  # theirs are as far from the mean of both as ours


@pytest.mark.parametrize("model_type", RATES)
def test_what_is_kept_changes_nothing(model_type, monkeypatch):
    texts = [*map(words, range(40)), "chaQté"] * 2
    segment, draw = RandomSegmentation(trained(model_type), RATES[model_type]), random.Random(1).random
    expected = [segment(text, draw) for text in texts]
    assert len({tuple(ids) for ids in expected}) > 70
    for name, value in (("_MOST_MERGED_KEPT", 2), ("_MOST_LATTICES_KEPT", 2), ("_LONGEST_KEPT", 0)):
        monkeypatch.setattr(segmentation, name, value)
        segment, draw = RandomSegmentation(trained(model_type), RATES[model_type]), random.Random(1).random
        assert [segment(text, draw) for text in texts] == expected


@pytest.mark.parametrize("model_type", RATES)
def test_a_long_text_without_spaces_is_drawn_too(model_type):
    """Its segmentations are more, and less likely, than a float can say."""
    tokenizer = trained(model_type)
    for text in ("souris" * 500, "☃😀" * 500):
        for rate in (0.0, 0.1, 0.99, *([10.0] if model_type == "unigram" else [])):
            assert tokenizer.decode([drawn(tokenizer, rate, text, 1)]) == [text]


@pytest.mark.parametrize("model_type", RATES)
def test_other_processes_and_copies_draw_the_same(model_type, tmp_path):
    trained(model_type).save(tmp_path / "tokenizer.model")
    texts, rate = [words(seed) for seed in range(30)], RATES[model_type]
    program = (
        "import random, sys; from seq2seq.segmentation import RandomSegmentation as R; "
        "from seq2seq.tokenizer import Tokenizer; draw = random.Random(7).random; "
        f"segment = R(Tokenizer.load(sys.argv[1]), {rate}); print([segment(text, draw) for text in {texts}])"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "tokenizer.model")]
    done = subprocess.run(command, env={"PYTHONHASHSEED": "1"}, cwd=ROOT, capture_output=True, text=True, check=True)
    segment = RandomSegmentation(trained(model_type), rate)
    for each in (segment, pickle.loads(pickle.dumps(segment))):
        draw = random.Random(7).random
        assert done.stdout.strip() == str([each(text, draw) for text in texts])
