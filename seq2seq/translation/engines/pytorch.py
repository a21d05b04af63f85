"""Search with PyTorch: the model as it was trained, or an ensemble, on CPU or GPU.

Shapes: B sentences, S source tokens, T target tokens, H n_heads, V vocabulary
"""

import threading
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding.constraints import forbid_special
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.decoding.protocol import Ensemble, mean_logits, shares_of
from seq2seq.decoding.search import pad_sources, search
from seq2seq.errors import ConfigError
from seq2seq.hardware import speed_up_gpu
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines.packed import join_products, pack
from seq2seq.translation.engines.protocol import Needs, Sentence
from seq2seq.vocabulary import BOS, EOS

_ROUNDED = {"bfloat16": torch.bfloat16, "float16": torch.float16}  # types of matrix products
_SETTING_THREADS = threading.Lock()


class PyTorchEngine:
    """An `Engine` for one model, or for several with the same vocabulary."""

    # Python's share of a step does not grow with the batch: at a beam of 5, 4096 was 15% slower, and 16384 no faster
    # (d_model 256, two cores).
    max_batch_tokens = 8192
    # A step starts some three hundred kernels. That takes the host a millisecond or two, however few rows they have.
    # With 32,000 pieces, the logits of a step then take up to 2 GB. If memory runs out, batches are halved. Not
    # measured.
    max_batch_tokens_on_gpu = 32_768

    def __init__(
        self,
        models: Sequence[Transformer],
        device: torch.device,
        precision: str,
        n_workers: int = 1,
        threads_per_worker: int = 0,
        forks: bool = False,
        weights: Sequence[float] = (),
    ) -> None:
        """
        Args:
            models: at least one; they are moved to `device` and changed to `precision` in place.
            precision: float32, or bfloat16 for matrix products, or on a GPU float16.
            threads_per_worker: threads for the products of one batch on the CPU; 0: torch decides.
            weights: how much each model of an ensemble counts, see `shares_of`; none: all count the same.
        Raises:
            ConfigError: the precision is float16 on a CPU, or the weights do not fit the models.
        """
        if precision == "float16" and device.type == "cpu":
            raise ConfigError("precision=float16 needs a GPU; on a CPU use precision=bfloat16, float32 or auto")
        self.shares = shares_of(weights, len(models))
        self.models = [model.to(device).eval() for model in models]
        for model in self.models:
            join_products(model)
            if precision in _ROUNDED:
                _round_matrices(model, _ROUNDED[precision])
            if device.type == "cpu":
                pack(model)
        if device.type != "cpu":
            self.max_batch_tokens = self.max_batch_tokens_on_gpu
        if device.type == "cuda":
            speed_up_gpu()
        self.splits_last = device.type == "cpu"
        self.device = device
        self.precision = precision
        self.max_length = min(model.config.max_length for model in models)
        self.n_workers = n_workers
        self.threads_per_worker = threads_per_worker
        self.forks = forks

    def start_worker(self) -> None:
        """See `Engine.start_worker`. Threads that are no workers keep their number of threads, also later ones."""
        if not self.threads_per_worker:
            return
        with _SETTING_THREADS:
            n_others = torch.get_num_threads()
            torch.set_num_threads(self.threads_per_worker)
            if not self.forks:  # torch took the number for this thread, and for all that will use it for the first time
                other = threading.Thread(target=torch.set_num_threads, args=(n_others,))
                other.start()
                other.join()

    def check(self, config: DecodingConfig, needs: Needs) -> None:
        """See `Engine.check`. Only required phrases do not go together with all other settings."""
        if not needs.required:
            return
        problems = []
        if config.sampling:
            problems.append("required phrases (terms) have no meaning with decoding.sampling=true; search with a beam")
        elif config.beam_size == 1:
            problems.append("required phrases (terms) need a beam: raise decoding.beam_size=1, for example to 5")
        if problems:
            raise ConfigError("\n".join(problems))

    def decode(
        self, sentences: Sequence[Sentence], config: DecodingConfig, *, token_scores: bool = False
    ) -> list[list[Hypothesis]]:
        """See `Engine.decode`.

        Raises:
            ConfigError: see `check`.
        """
        required = [sentence.required for sentence in sentences]
        self.check(config, Needs(required=any(required)))
        src = pad_sources([sentence.source for sentence in sentences], self.max_length).to(self.device)
        prefixes = [sentence.prefix for sentence in sentences]
        numbers = [sentence.number for sentence in sentences]
        options = (src, config, self.max_length, prefixes, numbers, required, token_scores)
        with torch.inference_mode(), self.autocast():
            if len(self.models) == 1:
                return search(self.models[0], *options)
            return search(Ensemble(self.models, self.shares), *options)

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """See `Engine.score`."""
        src, tgt_in, tgt_out = self.batch(sources, targets)
        with torch.inference_mode(), self.autocast():
            logits = [model(src, tgt_in) for model in self.models]  # for each model (B, T, V)
            joint = logits[0].float() if len(logits) == 1 else mean_logits(logits, self.shares)
            forbid_special(joint, may_end=True)
            joint[:, 0, EOS] = -torch.inf
            log_probs = joint.log_softmax(-1).gather(-1, tgt_out.unsqueeze(-1)).squeeze(-1)  # (B, T)
        return [row[: len(target) + 1] for row, target in zip(log_probs.tolist(), targets, strict=True)]

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """See `Engine.attention`: the mean over models of `alignment_weights`. They count as their weights say."""
        src, tgt_in, _ = self.batch(sources, targets)
        with torch.inference_mode(), self.autocast():
            looks = [model.alignment_weights(src, tgt_in) for model in self.models]  # (B, T, S)
            weighted = [share * each for share, each in zip(self.shares, looks, strict=True)]
            weights = torch.stack(weighted).sum(0)  # (B, T, S)
        return [
            pair[: len(target), : len(source)]
            for pair, source, target in zip(weights.cpu().numpy(), sources, targets, strict=True)
        ]

    def batch(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """src (B, S); tgt_in (B, T), beginning with bos; tgt_out (B, T), ending with eos."""
        tgt_out = pad_sources(targets, self.max_length).to(self.device)
        bos = tgt_out.new_full((len(tgt_out), 1), BOS)
        tgt_in = torch.cat([bos, tgt_out[:, :-1]], -1)  # shorter targets go on with eos and pad, unused
        return pad_sources(sources, self.max_length).to(self.device), tgt_in, tgt_out

    def autocast(self) -> torch.autocast:
        """The precision of the engine, for what is computed in it."""
        dtype = _ROUNDED.get(self.precision, torch.bfloat16)
        return torch.autocast(self.device.type, dtype, enabled=self.precision in _ROUNDED)


def _round_matrices(model: Transformer, dtype: torch.dtype) -> None:
    """Store the weights in `dtype` that autocast would convert for each product. The rest stays float32.

    The rest are norms and sums of layers. In inference mode autocast does not keep converted weights (torch 2.13): a
    search would convert all of them for each token. That took 10% of its time (one core, d_model 256 and 512, a beam
    of 5).
    """
    model.embeddings.to(dtype)
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.to(dtype)
