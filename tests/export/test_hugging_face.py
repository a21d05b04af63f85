"""A directory for `transformers`: the same tokens, the same probabilities, the same translations as here."""

import dataclasses
import json
import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq import load
from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.model_card import hub_metadata
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig, TokenizerConfig
from seq2seq.errors import CheckpointError, ConfigError
from seq2seq.export import hugging_face_engine
from seq2seq.export.export import export, measure_parity
from seq2seq.export.hugging_face import class_of, write_hugging_face
from seq2seq.export.hugging_face_engine import HuggingFaceEngine
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.vocabulary import EOS
from tests.export.exporting import MODEL, main, needs_ctranslate2, refused
from tests.translating import sentences
from tests.translation.engines.models import SENTENCES, random_model, run_content, tokenizer

transformers = pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
huggingface_hub = pytest.importorskip("huggingface_hub", reason="pip install -e '.[hf]'")
pytestmark = pytest.mark.slow

DECODING = DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=4)


def written(folder: Path, model: Transformer, decoding: DecodingConfig = DECODING) -> HuggingFaceEngine:
    folder.mkdir(exist_ok=True)
    write_hugging_face(folder, model, tokenizer(), decoding)
    return HuggingFaceEngine(folder, model.config.max_length)


# --- tokens ---

_HOSTILE = [
    *(
        ">>xx<< hello",
        "▁",
        "▁▁ a",
        "a▁",
        "a ▁",
        "a▁ b",
        " ▁ a ▁ ",
        "</s>",
        "<pad>",
        "<s>x<unk>",
        "<tag:t>",
        "<0x41><0x0A>",
    ),
    *(
        "  double  spaces ",
        "",
        "   ",
        "\t",
        "\u3000a\xa0b\u200b",
        "\x00a\x7f",
        "\ufeffa",
        "😀👨‍👩‍👧‍👦",
        "™️ ½ ﬁ …",
        "हिन्दी ก็",
        "각",
    ),
    *(
        "e\u0301 nai\u0308ve",
        "\u1100\u1161\u11a8",
        "a\u0323\u0302",
        "½\u0301 ²\u0301 ﬁ\u0301",
        "q\u0323\u0307",
        "aaaaaaaaa!!!!!!!!!",
    ),
]


@cache
def pair(normalization: str) -> tuple[Tokenizer, Any]:
    """Our tokenizer, and theirs made of it."""
    lines = [text for pair in sentences(200) for text in pair] + SENTENCES + ["</s> <pad> 0x41 tag:t >>xx<<"]
    ours = Tokenizer.train(lines, TokenizerConfig(vocab_size=360, normalization=normalization), ["t"])
    config = dataclasses.replace(MODEL.config, d_model=6)
    with TemporaryDirectory() as folder:
        write_hugging_face(Path(folder), Transformer(config, ours.vocab_size), ours, DECODING)
        return ours, transformers.AutoTokenizer.from_pretrained(folder)


_RULES = ("nmt_nfkc", "nfc", "identity")


@pytest.mark.parametrize("normalization", _RULES)
def test_hostile_lines_have_the_same_ids_and_the_same_text(normalization: str) -> None:
    ours, theirs = pair(normalization)
    ids = ours.encode(_HOSTILE)
    assert theirs(_HOSTILE)["input_ids"] == [[*each, EOS] for each in ids]
    readable = [each for each in ids if not any(i in ours.byte_ids() for i in each)]
    assert theirs.batch_decode(readable, skip_special_tokens=True) == ours.decode(readable)
    assert set(theirs(["a"])) == {"input_ids", "attention_mask"}


_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Mn", "Mc", "Me", "Cn", "Co")), max_size=30)


@settings(deadline=None)
@given(line=_TEXT | st.text("ab</s>0x41 ▁éêpdtg:", max_size=30))
@pytest.mark.parametrize("normalization", _RULES)
def test_any_text_has_the_same_ids(normalization: str, line: str) -> None:
    ours, theirs = pair(normalization)
    assert theirs(line)["input_ids"] == [*ours.encode([line])[0], EOS]


# --- the model ---

_VARIANTS: list[dict[str, Any]] = [
    {"norm": "post", "output_bias": True, "residual": 4.0},
    {"norm": "post", "embeddings": "decoder", "activation": "swish"},
    {"norm": "post", "embeddings": "separate", "bias": True},
    {"norm": "pre", "bias": True, "residual": 2.0},
    {"norm": "pre", "positions": "learned", "activation": "gelu"},
]


@pytest.mark.parametrize("changes", _VARIANTS, ids=str)
def test_every_variant_computes_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(seed=5, end_bonus=2.0 if changes["norm"] == "pre" else 0.0, **changes)
    theirs = written(tmp_path, model)
    assert type(theirs.model).__name__ == class_of(model.config).architecture
    _, found = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(found.values()), found  # no weight is missing, and none is left over
    ours = PyTorchEngine([model], torch.device("cpu"), "float32")
    parity = measure_parity(ours, theirs, tokenizer(), dataclasses.replace(DECODING, beam_size=1), SENTENCES)
    assert parity.n_identical == len(SENTENCES)
    assert parity.largest < 1e-5
    for source in tokenizer().encode(SENTENCES):
        (((a, *_),), ((b, *_),)) = (engine.decode([Sentence(source)], DECODING) for engine in (ours, theirs))
        # Where the length cuts, theirs may take a hypothesis that has not ended.
        assert (a.tokens, a.finished) == (b.tokens, b.finished) or not b.finished


def test_a_model_of_marians_form_comes_back(tmp_path: Path) -> None:
    model = random_model(norm="post", output_bias=True)
    assert model.output_bias is not None
    torch.nn.init.normal_(model.output_bias)
    written(tmp_path, model)
    trained = TrainedModel.read(f"hf:{tmp_path}")
    assert trained.tokenizer.fingerprint == tokenizer().fingerprint
    ours, back = (PyTorchEngine([each], torch.device("cpu"), "float32") for each in (model, trained.build()))
    parity = measure_parity(ours, back, tokenizer(), DECODING, SENTENCES)
    assert parity.n_identical == len(SENTENCES) and parity.largest < 1e-5


def test_what_transformers_saves_again_without_positions_computes_the_same(tmp_path: Path) -> None:
    """Marian's class stores no sinusoids, and computes them in its own order."""
    model = random_model(norm="post")
    theirs = written(tmp_path / "first", model)
    for part in (theirs.model, theirs.tokenizer):
        part.save_pretrained(tmp_path / "again")
    again = HuggingFaceEngine(tmp_path / "again", model.config.max_length)
    pairs = tokenizer().encode(SENTENCES), tokenizer().encode(SENTENCES[::-1])
    ours = PyTorchEngine([model], torch.device("cpu"), "float32").score(*pairs)
    assert again.score(*pairs) == [pytest.approx(each, abs=1e-5) for each in ours]


def test_a_trained_model_translates_alike_and_the_lines_of_its_card_run(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [src for src, _ in sentences(30)]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    export_to(trained_run, tmp_path / "hub", "--parity-input", tmp_path / "lines")
    assert capsys.readouterr().out.count("30 of 30 translations identical") == 2
    card = (tmp_path / "hub" / "README.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^    (.*)$", card.split("## Use")[1], re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    exec(code.replace('"DIR"', '"hub"').replace('["..."]', repr(lines)), {})
    assert capsys.readouterr().out.strip() == str([each.text for each in load(trained_run).translate(lines)])


def test_ctranslate2s_converter_makes_of_it_what_our_export_makes_of_the_model(
    trained_run: Path, tmp_path: Path
) -> None:
    needs_ctranslate2()
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    lines = [src for src, _ in sentences(30)]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
    export_to(trained_run, tmp_path / "hub", "--parity-input", tmp_path / "lines")
    export(trained_run, ("ctranslate2",), output=tmp_path / "ours", parity_input=tmp_path / "lines", say=lambda _: None)
    TransformersConverter(str(tmp_path / "hub")).convert(str(tmp_path / "theirs"))
    tokenizer = Tokenizer.load(tmp_path / "ours" / "tokenizer.model")
    source = [tokenizer.pieces(ids) for ids in tokenizer.encode(lines)]
    ours, theirs = (
        ctranslate2.Translator(str(folder)).translate_batch(
            given, beam_size=3, max_decoding_length=40, return_scores=True
        )
        for folder, given in (
            (tmp_path / "ours" / "ctranslate2", source),
            (tmp_path / "theirs", [[*pieces, "</s>"] for pieces in source]),
        )
    )
    assert [each.hypotheses for each in theirs] == [each.hypotheses for each in ours]
    assert [each.scores[0] for each in theirs] == pytest.approx([each.scores[0] for each in ours], abs=1e-5)


# --- what is refused ---


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"positions": "rotary"}, "model.norm=pre with model.positions=rotary (loadable: model.norm=post with"),
        ({"norm": "post", "positions": "learned"}, "model.norm=post with model.positions=learned"),
        ({"norm_type": "rms"}, "model.norm_type=rms (layer is loadable)"),
        ({"activation": "swiglu"}, "model.activation=swiglu (relu, gelu, swish are loadable)"),
        ({"d_encoder": 12, "embeddings": "decoder"}, "model.d_encoder=12 (0 is loadable); model.embeddings=decoder"),
        ({"embeddings": "separate"}, "model.embeddings=separate (shared is loadable, or model.norm=post)"),
    ],
)
def test_what_no_class_computes_is_refused_with_what_would_be_loadable(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(CheckpointError, match=re.escape(f"nothing in transformers is the same as {named}")):
        class_of(ModelConfig(**changes))


def test_a_tokenizer_that_theirs_is_not_equal_to_is_refused_too() -> None:
    with pytest.raises(CheckpointError, match=r"tokenizer\.model_type=unigram \(bpe is loadable\)"):
        class_of(ModelConfig(), "unigram")
    with pytest.raises(CheckpointError, match="a tokenizer for each side"):
        class_of(ModelConfig(), is_joint=False)


def test_every_other_key_of_the_model_is_refused_too() -> None:
    free = {
        "d_model",
        "n_heads",
        "d_ff",
        "n_encoder_layers",
        "n_decoder_layers",
        "max_length",
        "bias",
        "norm",
        "output_bias",
        "residual",
    }
    free |= {"positions", "embeddings", "activation", "dropout", "attention_dropout", "activation_dropout"}
    for field in dataclasses.fields(ModelConfig):
        if field.name not in free | {"word_dropout"}:
            config = ModelConfig()
            setattr(config, field.name, "other" if isinstance(field.default, str) else 0.125)
            with pytest.raises(CheckpointError, match=rf"model\.{field.name}="):
                class_of(config)


def export_to(run: Path, output: Path, *options: object) -> None:
    main([str(run), "--format", "transformers", "--output", str(output), *map(str, options)])


def test_only_such_a_directory_is_replaced(
    run_dir: Path, lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = (run_dir, "--format", "transformers", "--parity-input", lines)
    main([*map(str, options)])
    output = run_dir / "export" / "transformers"
    (output / "old").touch()
    assert "exists already, and is kept; add --force" in refused(capsys, 2, *options)
    main([*map(str, options), "--force"])
    assert sorted(path.name for path in output.iterdir()) == [
        *("README.md", "config.json", "generation_config.json", "model.safetensors", "source.spm", "target.spm"),
        *("tokenizer.json", "tokenizer_config.json", "vocab.json"),
    ]
    assert "choose another --output" in refused(capsys, 2, *options, "--force", "--output", run_dir)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "ctranslate2"], "makes a directory of its own"),
        (["--quantization", "int8"], "are for CTranslate2"),
    ],
)
def test_mistakes_are_one_sentence(
    run_dir: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, 2, run_dir, "--format", "transformers", *args)
    assert not (run_dir / "export").exists()


def test_without_the_package_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[hf\]'"):
        hugging_face_engine.require_transformers()


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("config.json", '"scale_embedding": true', '"scale_embedding": false', "so this is not the same model"),
        ("tokenizer.json", '"prepend": "▁"', '"prepend": "a"', "cuts 'Un chat dort.' into other pieces"),
    ],
)
def test_a_wrong_directory_does_not_appear(
    run_dir: Path,
    lines: Path,
    file: str,
    old: str,
    new: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def damaged(directory: Path, *args: Any) -> None:
        write_hugging_face(directory, *args)
        text = (directory / file).read_text(encoding="utf-8")
        (directory / file).write_text(text.replace(old, new), encoding="utf-8")

    monkeypatch.setattr("seq2seq.export.export.write_hugging_face", damaged)
    assert message in refused(capsys, 1, run_dir, "--format", "transformers", "--parity-input", lines)
    assert not list((run_dir / "export").iterdir())


# --- the card ---


def test_the_card_says_the_scores_as_the_hub_reads_them(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    signature = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
    scores = {"test": {"bleu": {"score": 31.416, "mean": 31.4, "half_width": 1.0, "signature": signature}}}
    write_model(run_content(MODEL), folder / "checkpoints" / "model.ckpt", step=1)
    (folder / "scores.json").write_text(json.dumps(scores))
    (folder / "selection.json").write_text(json.dumps({"selected": "best", "step": 1, "valid": {"best": {}}}))
    origins = [{"name": "tatoeba", "licence": "CC BY 2.0 FR"}, {"name": "mine", "licence": ""}]
    (folder / "provenance.json").write_text(
        json.dumps({"starts": [], "data_report": {"splits": {"train": {"origins": origins}}}})
    )
    data: Any = huggingface_hub.ModelCard(hub_metadata(RunConfig(name="demo"), RunDirectory(folder)) + "# Demo").data
    assert data.language == ["fr", "en"]
    assert (data.license, data.get("license_name")) == ("other", "text: CC BY 2.0 FR")
    (result,) = data.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_value) == ("test", "bleu", 31.42)
    assert result.metric_args == {"signature": signature}
    assert "license" not in hub_metadata(RunConfig(), None)
