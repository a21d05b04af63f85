"""Search with PyTorch: the model as it was trained, or an ensemble, on CPU or GPU.

Shapes: B sentences, S source tokens, T target tokens, H n_heads, V vocabulary
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import forbid_special
from seq2seq.decoding.ensemble import Ensemble, mean_log_probs
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.search import search
from seq2seq.decoding.sentences import pad_sources
from seq2seq.errors import TranslationError
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines.packed import pack
from seq2seq.translation.engines.protocol import Sentence
from seq2seq.vocabulary import BOS, EOS


class PyTorchEngine:
    """An `Engine` for one model, or for several with the same vocabulary."""

    # Python's share of a step does not grow with the batch: at a beam of 5, 4096 was 15% slower, and 16384 no faster
    # (d_model 256, two cores).
    max_batch_tokens = 8192

    def __init__(
        self,
        models: Sequence[Transformer],
        device: torch.device,
        precision: str,
        n_workers: int = 1,
        threads_per_worker: int = 0,
        forks: bool = False,
    ) -> None:
        """
        Args:
            models: at least one; they are moved to `device` and changed to `precision` in place.
            precision: float32, or bfloat16 for matrix products.
            threads_per_worker: threads for the products of one batch on the CPU; 0: torch decides.
        """
        self.models = [model.to(device).eval() for model in models]
        for model in self.models:
            if precision == "bfloat16":
                _round_matrices(model)
            if device.type == "cpu":
                pack(model)
        self.device = device
        self.precision = precision
        self.max_length = min(model.config.max_length for model in models)
        self.n_workers = n_workers
        self.threads_per_worker = threads_per_worker
        self.forks = forks

    def start_worker(self) -> None:
        """See `Engine.start_worker`."""
        if self.threads_per_worker:
            torch.set_num_threads(self.threads_per_worker)

    def check(self, config: DecodingConfig, *, attention: bool) -> None:
        """Refuse nothing: this engine has all settings of `DecodingConfig`, and attention."""

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """See `Engine.decode`.

        Raises:
            TranslationError: memory is short.
        """
        src = pad_sources([sentence.source for sentence in sentences], self.max_length).to(self.device)
        prefixes = [sentence.prefix for sentence in sentences]
        numbers = [sentence.number for sentence in sentences]
        try:
            with torch.inference_mode(), self._autocast():
                if len(self.models) == 1:
                    return search(self.models[0], src, config, self.max_length, prefixes, numbers)
                return search(Ensemble(self.models), src, config, self.max_length, prefixes, numbers)
        except torch.OutOfMemoryError as error:
            raise TranslationError(
                f"not enough memory on {self.device} for decoding.max_batch_tokens={config.max_batch_tokens} and "
                f"beam_size={config.beam_size}; lower one of them"
            ) from error

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """See `Engine.score`."""
        src, tgt_in, tgt_out = self._batch(sources, targets)
        with torch.inference_mode(), self._autocast():
            logits = [model(src, tgt_in) for model in self.models]  # for each model (B, T, V)
            joint = logits[0].float() if len(logits) == 1 else mean_log_probs(logits)
            forbid_special(joint, may_end=True)
            joint[:, 0, EOS] = -torch.inf
            log_probs = joint.log_softmax(-1).gather(-1, tgt_out.unsqueeze(-1)).squeeze(-1)  # (B, T)
        return [row[: len(target) + 1] for row, target in zip(log_probs.tolist(), targets, strict=True)]

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """See `Engine.attention`: the mean, over heads and models, of the cross-attention in the last layer but one.

        Garg et al. (2019) take alignments from that layer.
        """
        src, tgt_in, _ = self._batch(sources, targets)
        with torch.inference_mode(), self._autocast():
            layers = [model.attention_weights(src, tgt_in).cross[-2:][0] for model in self.models]  # (B, H, T, S)
            weights = torch.stack([layer.float().mean(1) for layer in layers]).mean(0)  # (B, T, S)
        return [
            pair[: len(target), : len(source)]
            for pair, source, target in zip(weights.cpu().numpy(), sources, targets, strict=True)
        ]

    def _batch(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """src (B, S); tgt_in (B, T), beginning with bos; tgt_out (B, T), ending with eos."""
        tgt_out = pad_sources(targets, self.max_length).to(self.device)
        bos = tgt_out.new_full((len(tgt_out), 1), BOS)
        tgt_in = torch.cat([bos, tgt_out[:, :-1]], -1)  # shorter targets go on with eos and pad, unused
        return pad_sources(sources, self.max_length).to(self.device), tgt_in, tgt_out

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16")


def _round_matrices(model: Transformer) -> None:
    """Store the weights in bfloat16 that autocast would convert for each product. The rest stays float32.

    The rest are norms and sums of layers. In inference mode autocast does not keep converted weights (torch 2.13): a
    search would convert all of them for each token. That took 10% of its time (one core, d_model 256 and 512, a beam
    of 5).
    """
    model.embeddings.bfloat16()
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.bfloat16()
