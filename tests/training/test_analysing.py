"""What a run says at its end of what its model gets wrong."""

import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import seq2seq
from seq2seq.analysis.alignment import word_alignment, words_of_pieces
from seq2seq.analysis.analyse import analyse, analysed
from seq2seq.analysis.test_set import TestSetAnalysis
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import read_config
from seq2seq.dataset.store import write_store
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.analysing import Looks
from tests.places import made_once
from tests.training.tiny_runs import lines, tiny_config, train_with, write_split
from tests.translating import model_content

LEARNING = {
    "trainer.max_epochs": 3,
    "decoding.beam_size": 1,
    "optim.lr": 0.02,
    "model.d_model": 32,
    "model.n_decoder_layers": 2,
    "data.train": [{"source": "train", "tag": "a"}, {"source": "valid", "tag": "b"}],
    "data.valid": {"source": "valid", "tag": "b"},
    "data.test": {"both": [{"source": "odd", "tag": "b"}, {"source": "test", "tag": "a"}]},
}
ODD = [
    ("", "ma"),
    ("fa lo ga xyz ka ki ko ka", "ka ko ki ka xyz ga lo fa"),
    ("ba be ba be", "be ba be ba"),
    ("12 !", "! 12"),
]


@pytest.fixture(scope="session")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    known = lines(corpus / "train.fr")[7]
    write_split(corpus, "odd", [*ODD, (known, " ".join(reversed(known.split())))])
    path = made_once(tmp_path_factory, "analysed_run", lambda path: train_with(tiny_config(corpus, path, LEARNING)))
    return RunDirectory(path)


@pytest.fixture(scope="module")
def analysis(run: RunDirectory) -> TestSetAnalysis:
    return analyse(run, "both")


def test_sources_are_kept_and_every_sentence_is_there(
    run: RunDirectory, analysis: TestSetAnalysis, corpus: Path
) -> None:
    sources = [*lines(corpus / "odd.fr"), *lines(corpus / "test.fr")]
    assert run.sources("both") == [each.source for each in analysis.sentences] == sources
    assert [each.hypothesis for each in analysis.sentences] == run.hypotheses("both")
    assert [tuple(each.references) for each in analysis.sentences] == run.references("both")
    assert analysis.test == "both"
    assert analysis.notes == ["Translated as in the references: 0 of 1 numbers."]
    blank = analysis.sentences[0]
    assert (blank.source, blank.hypothesis, blank.findings, blank.alignment) == ("", "", {}, [])


def test_sentences_are_compared_with_the_training_text(analysis: TestSetAnalysis, corpus: Path) -> None:
    train = [*lines(corpus / "train.fr"), *lines(corpus / "valid.fr")]
    counts = Counter(word for line in train for word in line.split())
    for each in analysis.sentences:
        assert each.source is not None
        words = re.findall("[a-z]+", each.source)
        assert each.rarest_count == min((counts[word] for word in words), default=None)
        assert each.is_in_train == (each.source in train)
        assert each.domain == ("b" if each.number <= len(ODD) + 1 else "a")
    assert [each.is_in_train for each in analysis.sentences][1:5] == [False, False, False, True]
    assert [each.rarest_count for each in analysis.sentences][0:4:3] == [None, None]
    assert analysis.slices.keys() == {"source length", "rarest word", "domain", "source in train"}
    assert [(row.name, row.n_sentences) for row in analysis.slices["domain"]] == [("b", 5), ("a", 7)]


def test_words_are_aligned_as_the_translator_aligns_them(run: RunDirectory, analysis: TestSetAnalysis) -> None:
    translator = seq2seq.load(run.path, device="cpu", precision="float32")
    n_same = 0
    for domain in ("a", "b"):
        sentences = [each for each in analysis.sentences if each.domain == domain]
        found = translator.translate(
            [each.source or "" for each in sentences], tag=domain, alignment=True, normalize="never"
        )
        for ours, theirs in zip(sentences, found, strict=True):
            if ours.hypothesis == theirs.text:
                assert list(ours.alignment or []) == (theirs.hypotheses[0].alignment or [])
                n_same += len(ours.alignment or [])
    assert n_same > 8  # the translator searches again where a translation went round in circles


def test_attention_is_of_the_worst_the_median_and_the_best_sentence(
    run: RunDirectory, analysis: TestSetAnalysis
) -> None:
    trained = TrainedModel.read(run.path)
    scores = sorted(each.chrf for each in analysis.sentences if each.source and each.hypothesis)
    found = {each.chosen_as: each for each in analysis.attention}
    chosen = {name: analysis.sentences[each.number - 1] for name, each in found.items()}
    assert list(found) == ["worst", "median", "best"]
    assert [each.chrf for each in chosen.values()] == [scores[0], scores[len(scores) // 2], scores[-1]]
    for name, each in found.items():
        sentence = chosen[name]
        assert each.source_pieces[0] == f"<tag:{sentence.domain}>" and each.source_pieces[-1] == "</s>"
        src, tgt = trained.tokenizer.encode([sentence.source or "", sentence.hypothesis])
        assert list(each.source_pieces[1:-1]) == trained.tokenizer.pieces(src)
        assert list(each.target_pieces[:-1]) == trained.tokenizer.pieces(tgt)
        weights = np.array(each.weights)
        assert weights.shape == (len(each.target_pieces), len(each.source_pieces))
        np.testing.assert_allclose(weights.sum(1), 1, atol=0.02)
        assert sentence.source is not None
        words = [
            words_of_pieces(text, trained.tokenizer.offsets(text)) for text in (sentence.source, sentence.hypothesis)
        ]
        assert sentence.alignment == word_alignment(weights[:-1, 1:-1], *words)


def test_what_is_missing_is_made_when_a_finished_run_is_resumed(
    run: RunDirectory, corpus: Path, tmp_path: Path
) -> None:
    copy = RunDirectory(tmp_path / "run")
    shutil.copytree(run.path, copy.path)
    for folder in ("sources", "analysis"):
        shutil.rmtree(copy.path / folder)
    assert copy.sources("both") is None and analyse(copy, "both").sentences[0].source is None
    train_with(tiny_config(corpus, copy.path, LEARNING), resume=True)
    for name in ("sources/both.fr", "analysis/both.json"):
        assert (copy.path / name).read_bytes() == (run.path / name).read_bytes()


def test_each_sentence_has_its_own_attention_however_long_or_odd_it_is(tmp_path: Path) -> None:
    saved = model_content()
    tokenizer = Tokenizer(saved.tokenizer)
    config = read_config(saved.config)
    model = Transformer(config.model, tokenizer.vocab_size)
    model.load_state_dict(saved.weights)
    sources = [
        "Un chat dort.",
        "",
        "Le chien\u3000dort ",
        "\u200b",
        "Oui !",
        "Le chien de la voisine court après la balle.",
    ]
    hypotheses = ["A cat ⁇.", "", "", "word", " ".join(["toi moi"] * 60), "\u200b"]
    store = write_store(
        tmp_path / "store", [iter(zip(sources, sources, strict=True))], tokenizer, judge=None, keep_text=True
    )
    looks = Looks(model.eval(), tokenizer, bf16=False)
    together = looks.alignments(store, hypotheses)
    assert [len(pairs) for pairs in together[:4]] == [3, 0, 0, 0] and together[5] == []
    n_words = len(together[4])
    assert 10 < n_words < config.model.max_length  # what the model can read again
    assert [tgt for _, tgt in together[4]] == list(range(n_words))
    assert {src for src, _ in together[4]} <= {0, 1}
    for i, pairs in enumerate(together):
        alone = [text if i == j else "" for j, text in enumerate(hypotheses)]
        assert looks.alignments(store, alone)[i] == pairs
    analysis = analysed("odd", sources, hypotheses, [("A cat sleeps.",)] * len(sources))
    maps = looks.maps(store, analysis.sentences)  # the others have a side without tokens
    assert {(each.number, each.chosen_as) for each in maps} == {(5, "worst"), (1, "best")}
