"""Small models to translate with, random and trained, and the command line in this process."""

import functools
import io
import random
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.cli import front_door
from seq2seq.config import DecodingConfig, ModelConfig, RunConfig
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import BOS, EOS, PAD

SENTENCES = ["Un chat dort.", "Le chien de la voisine court après la balle rouge.", "Oui !", "Où est la gare ?"]
TEXT = "".join(f"{sentence}\n" for sentence in SENTENCES)

# What the trained model has learned: a word for each word.
LEXICON = {c + v: f"{c.upper()}{v}s" for c in "bdfgkl" for v in "aeio"}


def model_content(seed: int = 3) -> SavedModel:
    """What a run saves as its model: random weights, but a real tokenizer and configuration."""
    config = RunConfig(
        model=ModelConfig(
            d_model=32, n_heads=2, d_ff=48, n_encoder_layers=1, n_decoder_layers=2, norm="post", max_length=60
        ),
        decoding=DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=3),
    )
    config.data.max_sentence_tokens = 40
    config.tokenizer.vocab_size = 320
    lines = [f"{a} {b} {c}." for a in SENTENCES for b in ("et", "ou", "sans") for c in ("moi", "toi", "elle")]
    tokenizer = Tokenizer.train(lines, config.tokenizer)
    torch.manual_seed(seed)
    return _content(config, tokenizer, Transformer(config.model, tokenizer.vocab_size))


@functools.cache
def trained_content(*tags: str) -> SavedModel:
    """What a run saves as a model that has learned `LEXICON`, in two seconds.

    Args:
        tags: of kinds of text in which the translated words end in this letter instead of in s.
    """
    config = RunConfig(
        model=ModelConfig(
            d_model=32, n_heads=4, d_ff=64, n_encoder_layers=1, n_decoder_layers=1, max_length=48, dropout=0.0
        ),
        decoding=DecodingConfig(beam_size=3),
    )
    config.data.max_sentence_tokens = 14
    config.tokenizer.vocab_size = 340
    drawn = random.Random(1)
    pairs = [sentence_pair(drawn) for _ in range(400)]
    pairs += [("", tgt.replace("s", tag)) for _, tgt in pairs for tag in tags]
    config.data.train = [{"source": f"train_{tag}", "tag": tag} for tag in tags] or "train"
    tokenizer = Tokenizer.train([side for pair in pairs for side in pair], config.tokenizer, tags)
    torch.manual_seed(1)
    model = Transformer(config.model, tokenizer.vocab_size)
    n_steps = 420
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(n_steps):
        optimizer.param_groups[0]["lr"] = 0.015 * min((step + 1) / 20, 1 - step / n_steps)
        src, tgt = zip(*(sentence_pair(drawn) for _ in range(32)), strict=True)
        kinds = [("", *tags)[i % (1 + len(tags))] for i in range(32)]
        tgt_out = _padded(
            tokenizer.encode([text.replace("s", kind or "s") for text, kind in zip(tgt, kinds, strict=True)])
        )
        tgt_in = torch.cat([torch.full((len(tgt), 1), BOS), tgt_out[:, :-1]], -1)
        tagged = [tokenizer.tag(kind) + ids for ids, kind in zip(tokenizer.encode(src), kinds, strict=True)]
        logits = model(_padded(tagged), tgt_in)
        loss = F.cross_entropy(logits.flatten(0, 1), tgt_out.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.7, "the model did not learn"
    return _content(config, tokenizer, model)


def sentence_pair(drawn: random.Random, longest: int = 8) -> tuple[str, str]:
    """A sentence of `LEXICON` and its translation."""
    words = drawn.choices(list(LEXICON), k=drawn.randint(2, longest))
    return " ".join(words).capitalize() + ".", " ".join(LEXICON[word] for word in words) + "."


def sentences(n: int, seed: int = 9) -> list[tuple[str, str]]:
    drawn = random.Random(seed)
    return [sentence_pair(drawn) for _ in range(n)]


def _padded(sequences: list[list[int]]) -> torch.Tensor:
    width = max(map(len, sequences)) + 1
    return torch.tensor([[*ids, EOS, *[PAD] * (width - len(ids) - 1)] for ids in sequences])


def _content(config: RunConfig, tokenizer: Tokenizer, model: Transformer) -> SavedModel:
    config.trainer.max_steps = 1
    return SavedModel.of(config, tokenizer, model.state_dict())


def write_run(folder: Path, model: SavedModel) -> Path:
    write_model(model, folder / "checkpoints" / "model.ckpt", step=1)
    return folder


class Stream(io.TextIOWrapper):
    """Stdin, stdout or stderr in memory."""

    def __init__(self, data: bytes = b"", is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", newline="\n")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


class Cli:
    """translate.py with the model of a run, in this process."""

    def __init__(self, *models: Path) -> None:
        self.defaults: tuple[object, ...] = (
            "--model", *models, "--device", "cpu", "--precision", "float32", "--threads", 1
        )  # fmt: skip

    def __call__(self, *arguments: object, stdin: str | bytes = "", on_terminal: bool = False) -> tuple[int, str, str]:
        """Exit status, stdout and stderr."""
        return run_cli(*self.defaults, *arguments, stdin=stdin, on_terminal=on_terminal)

    def lines(self, text: str | bytes, *arguments: object) -> list[str]:
        """The lines that come out for a text on stdin."""
        status, out, err = self(*arguments, stdin=text)
        assert status == 0, err
        assert out.endswith("\n") or not out
        return out.split("\n")[:-1]

    def refusal(self, *arguments: object, stdin: str | bytes = "") -> str:
        """What it says when it refuses to work, which it does without writing anything to stdout."""
        status, out, err = self(*arguments, stdin=stdin)
        assert (status, out) == (2, ""), err
        assert "Traceback" not in err
        return err


def run_cli(*arguments: object, stdin: str | bytes = "", on_terminal: bool = False) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of translate.py, in this process."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    streams = Stream(data), Stream(), Stream(is_terminal=on_terminal)
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        try:
            front_door("translate", [str(argument) for argument in arguments], prog="translate.py")
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
    return status, streams[1].written(), streams[2].written()
