"""Directories that `transformers` writes give the same ids, logits and translations here."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import TokenizerConfig
from seq2seq.errors import CheckpointError, UserError
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.options import EngineOptions
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from tests.artifacts.marian_directories import ENGLISH, FRENCH, SIZES, marian_directory

VARIANTS: dict[str, dict[str, Any]] = {
    "opus-mt": {},
    "relu": {"activation_function": "relu", "d_model": 24, "encoder_attention_heads": 4, "decoder_attention_heads": 4},
    "gelu-separate-output": {"activation_function": "gelu", "tie_word_embeddings": False},
    "two-vocabularies": {"separate": True},
    "two-vocabularies-separate-output": {"separate": True, "tie_word_embeddings": False},
    "bpe": {"model_type": "bpe"},
}
TEXTS = [
    "Où est-ce ?  Là !",
    "日本 naïve – 50 €",
    "<s> </s> ▁ x",
    "",
    *ENGLISH[:300],
    *FRENCH[:300],
]


@pytest.fixture(scope="module", params=VARIANTS)
def directory(request: Any, tmp_path_factory: Any) -> Path:
    return marian_directory(tmp_path_factory.mktemp("marian") / request.param, **VARIANTS[request.param])


@pytest.fixture(scope="module")
def opus_mt(tmp_path_factory: Any) -> Path:
    return marian_directory(tmp_path_factory.mktemp("marian") / "opus-mt")


@pytest.fixture
def copy(opus_mt: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(opus_mt, tmp_path / "copy"))


def their_ids(tokenizer: Any, texts: list[str], *, of_target: bool) -> list[list[int]]:
    if not of_target:
        return [tokenizer(text, split_special_tokens=True)["input_ids"][:-1] for text in texts]
    return [tokenizer(text_target=text, split_special_tokens=True)["input_ids"][:-1] for text in texts]


def in_our_order(trained: TrainedModel, tokenizer: Any, *, of_target: bool) -> dict[int, int]:
    """Our id of each of theirs."""
    side = trained.tokenizer.target if of_target else trained.tokenizer
    vocabulary = tokenizer.target_encoder if of_target and tokenizer.separate_vocabs else tokenizer.encoder
    ours = {piece: i for i, piece in enumerate(side.pieces(range(side.vocab_size)))}
    named = {piece: ours[piece] for piece in vocabulary if piece in ours}
    named |= {f">>{name}<<": i for name, i in side.tags.items()}
    assert set(vocabulary) <= named.keys()
    return {number: named[piece] for piece, number in vocabulary.items()}


@pytest.mark.parametrize("of_target", [False, True])
def test_texts_of_both_sides_have_their_ids(directory: Path, of_target: bool) -> None:
    trained, theirs = TrainedModel.read(directory), MarianTokenizer.from_pretrained(directory)
    ids = their_ids(theirs, TEXTS, of_target=of_target)
    our_id = in_our_order(trained, theirs, of_target=of_target)
    side = trained.tokenizer.target if of_target else trained.tokenizer
    expected = [[our_id[i] for i in each] for each in ids]
    assert side.encode(TEXTS) == expected
    assert [side.encode([text])[0] for text in TEXTS[:9]] == expected[:9]
    assert sum(each.count(UNK) for each in expected) > 50  # pieces that have no id


def test_decoding_is_theirs(directory: Path) -> None:
    trained, theirs = TrainedModel.read(directory), MarianTokenizer.from_pretrained(directory)
    our_id = in_our_order(trained, theirs, of_target=True)
    generator = torch.Generator().manual_seed(1)
    texts = [i for i, ours in our_id.items() if ours > EOS + len(trained.tokenizer.tags)]
    ids = [[texts[j] for j in torch.randint(len(texts), (12,), generator=generator)] for _ in range(50)]
    expected = [theirs.decode(each, use_source_tokenizer=False) for each in ids]
    decoded = trained.tokenizer.target.decode([[our_id[i] for i in each] for each in ids])
    assert [text.strip() for text in decoded] == expected


def batches(trained: TrainedModel, theirs: Any) -> tuple[list[list[int]], Tensor, list[list[int]]]:
    sources = [ids for ids in their_ids(theirs, ENGLISH[:24], of_target=False) if len(ids) < 40]
    our_id = in_our_order(trained, theirs, of_target=False)
    length = max(map(len, sources)) + 1
    rows = [[*ids, theirs.eos_token_id] + [theirs.pad_token_id] * (length - 1 - len(ids)) for ids in sources]
    return sources, torch.tensor(rows), [[our_id[i] for i in ids] for ids in sources]


@torch.inference_mode()
def test_logits_are_theirs(directory: Path) -> None:
    trained, theirs = TrainedModel.read(directory), MarianTokenizer.from_pretrained(directory)
    ours, model = trained.build().eval(), MarianMTModel.from_pretrained(directory).eval()
    our_id = in_our_order(trained, theirs, of_target=True)
    _, src, our_sources = batches(trained, theirs)
    start = model.config.decoder_start_token_id
    tgt = torch.randint(2, model.config.decoder_vocab_size - 1, (len(src), 30))
    tgt_in = torch.cat([torch.full((len(src), 1), start), tgt], 1)
    expected = model(input_ids=src, attention_mask=(src != model.config.pad_token_id).long(), decoder_input_ids=tgt_in)
    our_src = torch.full(src.shape, PAD)
    for row, ids in zip(our_src, our_sources, strict=True):
        row[: len(ids) + 1] = torch.tensor([*ids, EOS])
    table = torch.tensor([our_id[i] for i in range(len(our_id))])
    our_tgt = torch.cat([torch.full((len(src), 1), BOS), table[tgt]], 1)
    logits = ours(our_src, our_tgt)
    torch.testing.assert_close(logits[..., table], expected.logits, atol=1e-5, rtol=1e-5)
    assert expected.logits.std() > 0.5
    nothing_else = logits.log_softmax(-1)[..., table] - expected.logits.log_softmax(-1)
    assert nothing_else.abs().max() < 1e-5  # so no other token has a probability


@torch.inference_mode()
@pytest.mark.parametrize("beam_size", [1, 4])
def test_translations_are_theirs(directory: Path, beam_size: int) -> None:
    trained, theirs = TrainedModel.read(directory), MarianTokenizer.from_pretrained(directory)
    model = MarianMTModel.from_pretrained(directory).eval()
    our_id = in_our_order(trained, theirs, of_target=True)
    sources, _, our_sources = batches(trained, theirs)
    decoding = replace(trained.config.decoding, beam_size=beam_size, max_length_a=0.0, max_length_b=20)
    engine = PyTorchEngine([trained.build()], torch.device("cpu"), "float32")
    found = [best for best, *_ in engine.decode([Sentence(source) for source in our_sources], decoding)]
    n_ended = 0
    for source, hypothesis in zip(sources, found, strict=True):
        (out,) = model.generate(
            torch.tensor([[*source, theirs.eos_token_id]]),
            num_beams=beam_size,
            max_new_tokens=20,
            min_new_tokens=1,
            early_stopping="never" if beam_size > 1 else False,
            bad_words_ids=[[theirs.pad_token_id], [theirs.unk_token_id]],
        )
        expected = [our_id[i] for i in out.tolist()[1:]]
        n_ended += hypothesis.finished
        assert hypothesis.tokens + [EOS] * hypothesis.finished == expected
    assert n_ended > len(sources) // 3


def test_weights_can_be_pickled_tensors(opus_mt: Path, copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    torch.save(MarianMTModel.from_pretrained(opus_mt).half().state_dict(), copy / "pytorch_model.bin")
    expected, found = TrainedModel.read(opus_mt).weights, TrainedModel.read(copy).weights
    assert expected.keys() == found.keys()
    for name, weight in expected.items():
        torch.testing.assert_close(found[name], weight, atol=1e-2, rtol=1e-3)


def test_the_start_has_the_row_of_theirs_and_is_never_written(opus_mt: Path) -> None:
    weights = TrainedModel.read(opus_mt).weights
    table = weights["embeddings.tables.shared"]
    assert torch.equal(table[BOS], table[PAD])
    assert weights["output_bias"][BOS] == -100 < weights["output_bias"][PAD]


def test_language_codes_are_tags(opus_mt: Path) -> None:
    trained, theirs = TrainedModel.read(opus_mt), MarianTokenizer.from_pretrained(opus_mt)
    our_id = in_our_order(trained, theirs, of_target=False)
    (expected,) = their_ids(theirs, [f">>fra<< {ENGLISH[0]}"], of_target=False)
    found = trained.tokenizer.tag("fra") + trained.tokenizer.encode([ENGLISH[0]])[0]
    assert found == [our_id[i] for i in expected]


def test_what_the_directory_says_of_search_and_languages(opus_mt: Path, copy: Path) -> None:
    config = TrainedModel.read(opus_mt).config
    assert (config.data.src_lang, config.data.tgt_lang, config.decoding.beam_size) == ("en", "fr", 1)
    (copy / "generation_config.json").write_text(json.dumps({"num_beams": 4, "length_penalty": 0.0}))
    (copy / "tokenizer_config.json").write_text(json.dumps({"source_lang": "eng+fra"}))
    config = TrainedModel.read(copy).config
    assert (config.data.src_lang, config.data.tgt_lang, config.decoding.beam_size) == ("source", "target", 4)
    assert config.decoding.normalization == "none"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model_type": "bart"}, "model_type=bart"),
        ({"scale_embedding": False}, "scale_embedding=False"),
        ({"normalize_embedding": True}, "normalize_embedding=True"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm=True"),
        ({"static_position_embeddings": False}, "static_position_embeddings=False"),
        ({"activation_function": "gelu_new"}, "activation_function=gelu_new"),
        ({"decoder_attention_heads": 4}, "encoder_attention_heads and decoder_attention_heads differ"),
        ({"eos_token_id": 7}, "eos_token_id is 7, "),
        ({"encoder_ffn_dim": 25, "decoder_ffn_dim": 25}, "does not fit config.json"),
        ({"encoder_layers": 1}, "no model here has the weights model.encoder.layers.1"),
        ({"encoder_layers": 3}, "KeyError"),
        ({"d_model": "wide"}, "is not a whole model"),
        ({"d_model": 10**7}, "is not a whole model"),
    ],
)
def test_what_does_not_map_is_refused_by_name(copy: Path, changes: dict[str, Any], problem: str) -> None:
    content = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(content | changes))
    with pytest.raises(CheckpointError, match=problem):
        TrainedModel.read(copy)


def test_other_positions_are_refused(copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    save_file(weights | {"model.encoder.embed_positions.weight": torch.randn(64, 16)}, copy / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"embed_positions.weight are not the sinusoids"):
        TrainedModel.read(copy)


@pytest.mark.parametrize("name", ["model.safetensors", "source.spm", "vocab.json", "tokenizer_config.json"])
def test_a_file_that_is_missing_or_damaged_is_named(copy: Path, name: str) -> None:
    (copy / name).write_bytes(b"\xff no")
    with pytest.raises(UserError, match=name.partition(".")[0]) as damaged:
        TrainedModel.read(copy)
    (copy / name).unlink()
    with pytest.raises(UserError, match=name.partition(".")[0]) as missing:
        TrainedModel.read(copy)
    assert "\n" not in f"{damaged.value}{missing.value}"


def test_a_pickle_that_runs_code_is_refused(copy: Path) -> None:
    (copy / "model.safetensors").unlink()
    torch.save({"weights": Path("/")}, copy / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="holds more than tensors"):
        TrainedModel.read(copy)


def test_a_model_that_was_trained_here_keeps_its_tokenizer(copy: Path) -> None:
    tokenizer = Tokenizer.train([*ENGLISH, *FRENCH], TokenizerConfig(vocab_size=400), tags=["law"])
    pieces = tokenizer.pieces(range(400))
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": BOS}
    MarianMTModel(MarianConfig(**SIZES | special | {"vocab_size": 400, "decoder_vocab_size": 400})).save_pretrained(
        copy
    )
    (copy / "vocab.json").write_text(json.dumps({piece: i for i, piece in enumerate(pieces)}))
    for side in ("source", "target"):
        (copy / f"{side}.spm").write_bytes(tokenizer.proto)
    trained = TrainedModel.read(copy)
    assert trained.tokenizer.proto == tokenizer.proto
    assert trained.tokenizer.tags == {"law": 4}
    rows = load_file(copy / "model.safetensors")["model.shared.weight"]
    assert torch.equal(trained.weights["embeddings.tables.shared"][:, ::2], rows[:, :8])


def test_ctranslate2_translates_it_alike(directory: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
    from seq2seq.export.conversion import convert
    from seq2seq.translation.engines.ctranslate2 import load

    trained = TrainedModel.read(directory)
    if "two-vocabularies" in directory.name:
        with pytest.raises(CheckpointError, match="a vocabulary for each side"):
            convert(trained.build(), trained.tokenizer, tmp_path / "ctranslate2", None)
        return
    convert(trained.build(), trained.tokenizer, tmp_path / "ctranslate2", None)
    decoding = replace(trained.config.decoding, max_length_a=0.0, max_length_b=20)
    sentences = [Sentence(source) for source in trained.tokenizer.encode(ENGLISH[:20])]
    before = PyTorchEngine([trained.build()], torch.device("cpu"), "float32")
    after = load(tmp_path, trained.tokenizer, 64, EngineOptions(device="cpu", threads=1))
    ours, found = ([best.tokens for best, *_ in each.decode(sentences, decoding)] for each in (before, after))
    assert found == ours
