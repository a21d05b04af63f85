"""The last thing that a run does: say what its model gets wrong. It costs seconds, and it may fail.

Shapes: B sentences, S source tokens, T target tokens
"""

import dataclasses
import logging
from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import torch

from seq2seq.analysis.alignment import of_all_words, word_alignment, words_of_pieces
from seq2seq.analysis.analyse import analysed
from seq2seq.analysis.test_set import AnalysedSentence, AttentionMap
from seq2seq.analysis.training_text import TrainingText
from seq2seq.analysis.words import letter_words
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import DecodingConfig, RunConfig
from seq2seq.corpus.test_sets import TestSet, all_test_sets
from seq2seq.dataset.batches import collate
from seq2seq.dataset.prepare import Prepared
from seq2seq.dataset.store import PairStore
from seq2seq.decoding import plan_batches
from seq2seq.errors import command
from seq2seq.evaluation.scores import Scoring
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import EOS

_BATCH_TOKENS = 2048  # padded tokens of the longer sides of a batch: the weights of all layers are in memory
_LONGEST = 60  # tokens of a side in an attention map, so that it can be read

log = logging.getLogger(__name__)


def keep_analyses(model: Transformer, prepared: Prepared, config: RunConfig, run: RunDirectory, bf16: bool) -> None:
    """Write the analysis of each test set that the configuration names. A failure is told, and costs no more than that.

    One process does this alone: nothing here waits for others.

    Args:
        model: with the weights that won.
        bf16: multiply in bfloat16, as training did.
    """
    try:
        _keep_analyses(model, prepared, config, run, bf16)
    except Exception as error:
        log.warning(
            "there is no analysis of what the model gets wrong (%s: %s); try again with: %s",
            type(error).__name__,
            error,
            command("train", f"resume={run.path}"),
        )


def _keep_analyses(model: Transformer, prepared: Prepared, config: RunConfig, run: RunDirectory, bf16: bool) -> None:
    tests = {name: test for name, test in all_test_sets(config.data).items() if not test.clean}
    looks = Looks(model.eval(), prepared.tokenizer, bf16)
    sources = {name: _sources(prepared.tests[name]) for name in tests}
    words = set(chain.from_iterable(map(letter_words, chain.from_iterable(sources.values()))))
    training_text = TrainingText.read(prepared.train, prepared.tokenizer, words)
    for name, test in tests.items():
        store, hypotheses = prepared.tests[name], run.hypotheses(name)
        analysis = analysed(
            name,
            sources[name],
            hypotheses,
            run.references(name),
            training_text=training_text,
            alignments=looks.alignments(store, hypotheses),
            domains=_domains(test, store),
            scoring=Scoring.of(config, ignore_case=test.ignores_case),
        )
        attention = looks.maps(store, analysis.sentences)
        run.write_analysis(name, dataclasses.replace(analysis, attention=attention).as_json())


def _sources(store: PairStore) -> list[str]:
    return [store.src_text(i) for i in range(len(store))]


def _domains(test: TestSet, store: PairStore) -> list[str]:
    """For each sentence, the tag of the corpus source that it is from."""
    n_pairs = store.manifest.n_pairs_of_sources
    return [source.tag or "" for source, n in zip(test.sources, n_pairs, strict=True) for _ in range(n)]


class Looks:
    """Where a model looks while it writes given hypotheses."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer, bf16: bool) -> None:
        self.model, self.tokenizer, self.bf16 = model, tokenizer, bf16

    def alignments(self, store: PairStore, hypotheses: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The word alignment of each sentence; empty if the source or the hypothesis has no words."""
        alignments: list[list[tuple[int, int]]] = [[] for _ in hypotheses]
        ids = self._ids(hypotheses)
        indices = [i for i, text in enumerate(hypotheses) if text.strip() and store.src_text(i).strip()]
        for i, weights in self._weights(store, ids, indices):
            src_words = words_of_pieces(store.src_text(i), self.tokenizer.offsets(store.src_text(i)))
            tgt_words = words_of_pieces(hypotheses[i], self.tokenizer.target.offsets(hypotheses[i]))[: len(ids[i])]
            n_tags = len(store.src(i)) - len(src_words)
            pairs = word_alignment(weights[:-1, n_tags:-1], src_words, tgt_words)
            alignments[i] = sorted(of_all_words(pairs, src_words, tgt_words))
        return alignments

    def maps(self, store: PairStore, sentences: Sequence[AnalysedSentence]) -> list[AttentionMap]:
        """The attention of the worst, the median and the best sentence by chrF, of those that are not too long."""
        ids = self._ids([sentence.hypothesis for sentence in sentences])
        fitting = [i for i, each in enumerate(ids) if 0 < len(each) < _LONGEST and 0 < len(store.src(i)) < _LONGEST]
        by_chrf = sorted(fitting, key=lambda i: sentences[i].chrf)
        chosen = {
            "worst": by_chrf[:1],
            "median": by_chrf[1:-1][len(by_chrf[1:-1]) // 2 :][:1],
            "best": by_chrf[1:][-1:],
        }
        weights = dict(self._weights(store, ids, [i for found in chosen.values() for i in found]))
        return [
            AttentionMap(
                number=i + 1,
                chosen_as=name,
                source_pieces=self.tokenizer.pieces([*store.src(i).tolist(), EOS]),
                target_pieces=self.tokenizer.target.pieces([*ids[i], EOS]),
                weights=weights[i].astype(float).round(3).tolist(),
            )
            for name, found in chosen.items()
            for i in found
        ]

    def _ids(self, hypotheses: Sequence[str]) -> list[list[int]]:
        """What the model can read again: a hypothesis that is as long as can be leaves no place for its eos."""
        return [ids[: self.model.config.max_length - 1] for ids in self.tokenizer.target.encode(hypotheses)]

    def _weights(
        self, store: PairStore, targets: Sequence[Sequence[int]], indices: Sequence[int]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """For each of these sentences its `alignment_weights`, with eos on both sides: (T, S)."""
        device = next(self.model.parameters()).device
        lengths = [max(len(store.src(i)), len(targets[i])) for i in indices]
        for part in plan_batches(lengths, DecodingConfig(beam_size=1, max_batch_tokens=_BATCH_TOKENS)):
            batch = [indices[k] for k in part]
            padded = collate([store.src(i) for i in batch], [targets[i] for i in batch])
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
                weights = self.model.alignment_weights(padded.src.to(device), padded.tgt_in.to(device)).cpu().numpy()
            for i, each in zip(batch, weights, strict=True):
                yield i, each[: len(targets[i]) + 1, : len(store.src(i)) + 1]
