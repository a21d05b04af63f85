"""The search of `transformers` with an exported directory, to compare it with ours."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, length_limit
from seq2seq.decoding.search import pad_sources
from seq2seq.errors import ConfigError
from seq2seq.translation.engines import Sentence
from seq2seq.vocabulary import EOS, PAD


class HuggingFaceEngine:
    """A directory's model and tokenizer, as `measure_parity` asks for them."""

    def __init__(self, directory: Path, max_length: int) -> None:
        """
        Raises:
            ConfigError: transformers is not installed.
        """
        transformers = require_transformers()
        show_bars, verbosity = transformers.logging.is_progress_bar_enabled(), transformers.logging.get_verbosity()
        transformers.logging.disable_progress_bar()
        transformers.logging.set_verbosity_error()
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(directory)
            self.model = transformers.AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        finally:
            transformers.logging.set_verbosity(verbosity)
            if show_bars:
                transformers.logging.enable_progress_bar()
        self.max_length = max_length

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of each line, as its tokenizer gives them: with eos."""
        ids: list[list[int]] = self.tokenizer(list(lines))["input_ids"]
        return ids

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """The best hypothesis of each sentence. Its probability is not told.

        There is one limit of length for all; what is cut at another one may differ.
        """
        src = pad_sources([sentence.source for sentence in sentences], self.max_length)
        limits = [length_limit(len(sentence.source), config, self.max_length) for sentence in sentences]
        with torch.inference_mode():
            out = self.model.generate(
                src,
                attention_mask=src != PAD,
                num_beams=config.beam_size,
                max_length=None,
                max_new_tokens=max(limits),
            )
        return [
            [Hypothesis.from_tokens(ids[1 : limit + 1], math.nan, config)]
            for ids, limit in zip(out.tolist(), limits, strict=True)
        ]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """See `Engine.score`. Only eos is forbidden here, as the first token: the model itself forbids the others."""
        src = pad_sources(sources, self.max_length)
        start = self.model.config.decoder_start_token_id
        rows = [torch.tensor([*target, EOS]) for target in targets]
        tgt_out = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=EOS)  # (B, T)
        tgt_in = torch.cat([torch.full((len(rows), 1), start), tgt_out[:, :-1]], 1)
        with torch.inference_mode():
            logits = self.model(src, attention_mask=src != PAD, decoder_input_ids=tgt_in).logits.float()
            logits[:, 0, EOS] = -torch.inf
            log_probs = logits.log_softmax(-1).gather(-1, tgt_out.unsqueeze(-1)).squeeze(-1)  # (B, T)
        return [row[: len(target) + 1] for row, target in zip(log_probs.tolist(), targets, strict=True)]


def require_transformers() -> Any:
    """The module `transformers`.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import transformers
    except ImportError as error:
        raise ConfigError(
            "transformers is not installed, and no directory for it appears without a comparison; run, in a clone of "
            "seq2seq: pip install -e '.[hf]'"
        ) from error
    return transformers
