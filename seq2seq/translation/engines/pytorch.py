"""Search with PyTorch: the model as it was trained, or an ensemble, on CPU or GPU.

Shapes: B sentences, S source tokens, T target tokens, K hypotheses a sentence, M models, V vocabulary
"""

import math
import threading
from collections.abc import Sequence
from typing import Generic

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.config import DecodingConfig
from seq2seq.decoding import Hypothesis, NextTokenScores, State
from seq2seq.decoding.constraints import forbid_special
from seq2seq.decoding.search import pad_sources, search
from seq2seq.errors import ConfigError
from seq2seq.hardware import speed_up_gpu
from seq2seq.memory import no_room_on, telling_out_of_memory
from seq2seq.model.attention import SelfAttention
from seq2seq.model.layers import FeedForward
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Needs, Sentence
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

    gives_attention = True

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
        with telling_out_of_memory(no_room_on(str(device))):
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
        if needs.required and config.sampling:
            raise ConfigError("required phrases (terms) have no meaning with decoding.sampling=true; use a beam")
        if needs.required and config.beam_size == 1:
            raise ConfigError("required phrases (terms) need a beam: raise decoding.beam_size=1, for example to 5")

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        """See `Engine.decode`.

        Raises:
            ConfigError: see `check`.
        """
        required = [sentence.required for sentence in sentences]
        self.check(config, Needs(required=any(required)))
        src = pad_sources([sentence.source for sentence in sentences], self.max_length).to(self.device)
        prefixes = [sentence.prefix for sentence in sentences]
        numbers = [sentence.number for sentence in sentences]
        options = (src, config, self.max_length, prefixes, numbers, required)
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


# --- products that are fast with the few rows of a search: joined, and on a CPU in oneDNN's favourite layout ---
#
# A plain `nn.Linear` rearranges its weight in each call. For the few rows of a search, that is a good part of the work.
# Its float32 products also go to MKL, which is half as fast as oneDNN on processors that are not Intel's. Packed or
# not, the numbers stay float32 or bfloat16.

_ROWS = 256  # rows of x to prepare for; other numbers of rows are multiplied at nearly the same speed


def pack(model: Transformer) -> None:
    """Replace the products of `model`, on the CPU, by packed ones. The model can then no longer be saved or trained."""
    if not _is_available(model.embeddings.output.dtype):
        return
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child.weight, child.bias))
        if isinstance(module, FeedForward) and module.activation is F.relu:
            setattr(module.to_hidden, "activation", "relu")  # noqa: B010 (mypy still takes it for an nn.Linear)
            module.activation = nn.Identity()
    # Python finds an attribute of the instance before a method of the class.
    setattr(model, "project", PackedLinear(model.embeddings.output, model.output_bias).forward)  # noqa: B010 (mypy: a method)


def join_products(model: Transformer) -> None:
    """Make one product of the three of each self-attention, which for the few rows of a search is nearly as fast as one
    of them. The model can then no longer be saved or trained.
    """
    for module in list(model.modules()):
        if isinstance(module, SelfAttention) and not hasattr(module, "joined"):
            module.joined = Joined(module.to_q, module.to_k, module.to_v)
            del module.to_q, module.to_k, module.to_v
            setattr(module, "project", module.joined.forward)  # noqa: B010 (mypy: a method)


class Joined(nn.Module):
    """Several linear layers as one product."""

    def __init__(self, *parts: nn.Linear) -> None:
        super().__init__()
        self.widths = [part.out_features for part in parts]
        has_bias = parts[0].bias is not None
        self.product = nn.Linear(parts[0].in_features, sum(self.widths), has_bias, device="meta")
        self.product.weight = nn.Parameter(torch.cat([part.weight.detach() for part in parts]))
        if has_bias:
            self.product.bias = nn.Parameter(torch.cat([part.bias.detach() for part in parts]))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """(..., in) -> (..., out) of each."""
        return self.product(x).split(self.widths, -1)


class PackedLinear(nn.Module):
    """x W^T + b, then `activation`; x is converted to the type of W.

    torch.compile uses these two operators for the same purpose. torch does not document them, and lacks them if it was
    built without oneDNN.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, activation: str = "none") -> None:
        super().__init__()
        self.dtype = weight.dtype
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _ROWS)
        self.bias = None if bias is None else bias.detach()
        self.activation = activation

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)."""
        return torch.ops.mkldnn._linear_pointwise(x.to(self.dtype), self.packed, self.bias, self.activation, [], "")


def _is_available(dtype: torch.dtype = torch.float32) -> bool:
    """Whether this torch has the operators, and whether they compute the right product."""
    numbers = torch.Generator().manual_seed(0)  # its own: a program that loads a model may count on torch's
    weight, bias, x = (torch.randn(*shape, generator=numbers) for shape in ((64, 32), (64,), (3, 5, 32)))
    try:
        found = PackedLinear(weight.to(dtype), bias.to(dtype), "relu")(x)
    except (AttributeError, RuntimeError, TypeError):
        return False
    tolerance = 1e-4 if dtype == torch.float32 else 0.5  # bfloat16: values of up to 20, with 8 bits
    return torch.allclose(found.float(), F.relu(F.linear(x, weight, bias)), atol=tolerance)


# --- several models as one ---


def shares_of(weights: Sequence[float], n_models: int) -> list[float]:
    """The share of each model in the mean, in the order of the models. Shares sum to 1.

    Args:
        weights: one for each model, in any unit; none: all models count the same.
    Raises:
        ConfigError: there are not as many weights as models, or one of them is not a positive number.
    """
    if not weights:
        return [1 / n_models] * n_models
    if len(weights) != n_models:
        raise ConfigError(f"there are {len(weights)} weights for {n_models} models; give one for each model")
    total = sum(weights)
    for weight in weights:
        if not (weight > 0 and 0 < weight / total <= 1):
            raise ConfigError(f"the weight {weight} of a model is not a number above 0; leave out models that count 0")
    return [weight / total for weight in weights]


def mean_logits(logits: Sequence[Tensor], shares: Sequence[float]) -> Tensor:
    """log of the weighted mean over models of softmax(logits), each (..., V), in float32, plus a constant for each row.

    The constant is the weighted mean of what log_softmax subtracts in each model, so a model together with itself has
    its own logits. It changes no probability. But a repetition penalty acts on the sign of a logit, and a
    log-probability is never positive.
    """
    scores = [each.float() for each in logits]
    log_probs = [each.log_softmax(-1) for each in scores]
    subtracted = [a.amax(-1, keepdim=True) - b.amax(-1, keepdim=True) for a, b in zip(scores, log_probs, strict=True)]
    level = sum(share * each for share, each in zip(shares, subtracted, strict=True))  # (..., 1)
    weighted = [each + math.log(share) for each, share in zip(log_probs, shares, strict=True)]
    return torch.stack(weighted).logsumexp(0) + level  # (M, ..., V) -> (..., V)


class Ensemble(Generic[State]):
    """Models with the same vocabulary, searched as if they were one; see `NextTokenScores`."""

    def __init__(self, models: Sequence[NextTokenScores[State]], weights: Sequence[float] = ()) -> None:
        """`weights`: see `shares_of`."""
        self.models = models
        self.shares = shares_of(weights, len(models))

    def start(self, src: Tensor, max_length: int) -> list[State]:
        """Read sources (B, S)."""
        return [model.start(src, max_length) for model in self.models]

    def step(self, states: list[State], tokens: Tensor) -> tuple[Tensor, list[State]]:
        """Append one token (B, K) to each hypothesis. Returns the joint logits (B, K, V) of the token after it."""
        steps = [model.step(state, tokens) for model, state in zip(self.models, states, strict=True)]
        return mean_logits([logits for logits, _ in steps], self.shares), [state for _, state in steps]

    def reorder(self, states: list[State], parents: Tensor) -> list[State]:
        """Make hypothesis k of sentence b a copy of hypothesis `parents[b, k]`."""
        return [model.reorder(state, parents) for model, state in zip(self.models, states, strict=True)]

    def select(self, states: list[State], sentences: Tensor) -> list[State]:
        """Keep these sentences."""
        return [model.select(state, sentences) for model, state in zip(self.models, states, strict=True)]
