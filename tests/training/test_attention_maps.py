from typing import Any

import pytest
import torch

from seq2seq.dataset.prepare import prepare
from seq2seq.model.transformer import Transformer
from seq2seq.training.validation import Domains, attention_maps, choose_readable
from seq2seq.vocabulary import BOS, EOS
from tests.training.tiny_runs import reversed_pairs, tiny_config, write_corpus, write_split


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    corpus = write_corpus(tmp_path_factory.mktemp("corpus"))
    long = [(f"{src} " * 6, f"{tgt} " * 6) for src, tgt in reversed_pairs(3, 8)]
    write_split(corpus, "valid", [("", ""), *long, ("ba be", "be ba"), *reversed_pairs(4, 9, longest=4)])
    return prepare(tiny_config(corpus, corpus / "run"))


class Part:
    """Some pairs of a store."""

    def __init__(self, store, pairs):
        self.src_lengths, self.tgt_lengths = store.src_lengths[list(pairs)], store.tgt_lengths[list(pairs)]

    def __len__(self):
        return len(self.src_lengths)


def domains_of(store):
    return Domains(["valid"], torch.zeros(len(store), dtype=torch.int64).numpy())


def test_pairs_that_are_easy_to_read_are_chosen_and_long_ones_only_if_there_are_no_others(prepared):
    store = prepared.valid
    assert choose_readable(store, domains_of(store), 3) == [4, 5, 7]
    assert choose_readable(store, domains_of(store), 0) == []
    few: Any = Part(store, range(4))
    assert choose_readable(few, domains_of(few), 3) == [1, 2, 3]
    blank: Any = Part(store, range(1))
    assert choose_readable(blank, domains_of(blank), 3) == []


def test_a_map_is_the_mean_of_the_cross_attention_of_all_layers_and_heads(prepared):
    config = tiny_config(prepared.train.directory, prepared.train.directory / "run", {"model.n_decoder_layers": 2})
    torch.manual_seed(0)
    model = Transformer(config.model, prepared.tokenizer.vocab_size).train()
    (found,) = attention_maps(model, prepared.valid, prepared.tokenizer, [4])
    assert model.training  # as it was, and without dropout meanwhile
    (src,), (tgt,) = (prepared.tokenizer.encode([text]) for text in ("ba be", "be ba"))
    model.eval()
    with torch.no_grad():
        cross = model.attention_weights(torch.tensor([[*src, EOS]]), torch.tensor([[BOS, *tgt]])).cross
    layers = [layer[0].mean(0) for layer in cross]
    torch.testing.assert_close(torch.from_numpy(found.weights), (layers[0] + layers[1]) / 2)
    assert found.heads.shape[:2] == (2, config.model.n_heads)
    torch.testing.assert_close(torch.from_numpy(found.heads[1]), cross[1][0])
    assert found.source == [*prepared.tokenizer.pieces(src), "</s>"]
    assert found.target == [*prepared.tokenizer.pieces(tgt), "</s>"]  # a row is what the model predicts there


def test_compiled_code_is_not_compiled_anew_for_a_picture(prepared):
    config = tiny_config(prepared.train.directory, prepared.train.directory / "run")
    torch.manual_seed(0)
    model = Transformer(config.model, prepared.tokenizer.vocab_size).eval()
    (expected,) = attention_maps(model, prepared.valid, prepared.tokenizer, [4])
    n_graphs = 0

    def counted(graph, inputs):
        nonlocal n_graphs
        n_graphs += 1
        return graph.forward

    model.encoder.compile(backend=counted)
    model.decoder.compile(backend=counted)
    model(torch.tensor([[5, EOS]]), torch.tensor([[BOS, 6]]))
    n_before = n_graphs
    (found,) = attention_maps(model, prepared.valid, prepared.tokenizer, [4])
    assert n_graphs == n_before > 0
    torch.testing.assert_close(found.weights, expected.weights)
