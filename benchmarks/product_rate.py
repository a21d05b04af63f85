"""How fast can this machine multiply the matrices of a training step?  python benchmarks/product_rate.py JSON

It runs each product of the model, forward and backward, alone and many times. No step with these products can be faster
than their sum. `train_speed.py --limit` writes the JSON, and prints the answer.

Shapes: B sentences, S source tokens, T target tokens, N target tokens of the batch without padding, D d_model,
F d_ff, V vocabulary
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from seq2seq.config import ModelConfig
from seq2seq.hardware import speed_up_cpu
from seq2seq.training.loss import chunk_rows

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}
LONG_ENOUGH_S = 0.1  # for the best time of a product
FEWEST_RUNS = 5
RUNS_AT_A_TIME = 10  # on a GPU, whose answer takes as long as a small product


class Product(NamedTuple):
    """`n` products (rows, inner) @ (inner, columns) at once."""

    n: int
    rows: int
    inner: int
    columns: int

    @property
    def n_operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.n * self.rows * self.inner * self.columns

    @property
    def of_a_step(self) -> Iterator["Product"]:
        """Forward; then back to the left factor, dY W^T, and to the right one, X^T dY."""
        n, rows, inner, columns = self
        yield self
        yield Product(n, rows, columns, inner)
        yield Product(n, inner, rows, columns)


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_default_device(job["device"])
    if job["device"] == "cpu":
        speed_up_cpu()
        if job["threads"]:
            torch.set_num_threads(job["threads"])
    products = Counter(
        product
        for forward in products_of(ModelConfig(**job["model"]), job["vocab_size"], job["device"], **job["batch"])
        for product in forward.of_a_step
    )
    n_operations = sum(product.n_operations * times for product, times in products.items())
    seconds = {
        name: sum(best_s(product, dtype) * times for product, times in products.items())
        for name, dtype in DTYPES.items()
    }
    print(json.dumps({"gflop": n_operations / 1e9, "seconds": seconds}))


def products_of(
    model: ModelConfig, vocab_size: int, device: str, sentences: int, src: int, tgt: int, scored: int
) -> Iterator[Product]:
    """The matrix products of the forward pass, as our model makes them.

    Args:
        device: cpu or cuda, which decides how many rows of logits there are at a time.
        sentences: B.
        src: S.
        tgt: T.
        scored: N.
    """
    d_model, d_ff = model.d_model, model.d_ff
    queries, keys_values = model.n_heads * model.d_k, model.n_groups * (model.d_k + model.d_v)  # numbers of a token

    def linear(tokens: int, n_in: int, n_out: int) -> Product:
        return Product(1, tokens, n_in, n_out)

    def self_attention(length: int) -> Iterator[Product]:
        yield linear(sentences * length, d_model, queries + keys_values)
        yield from attention(length, length)

    def attention(n_queries: int, n_keys: int) -> Iterator[Product]:
        yield Product(sentences * model.n_heads, n_queries, model.d_k, n_keys)
        yield Product(sentences * model.n_heads, n_queries, n_keys, model.d_v)
        yield linear(sentences * n_queries, model.n_heads * model.d_v, d_model)

    def feed_forward(length: int) -> Iterator[Product]:
        yield linear(sentences * length, d_model, d_ff)
        yield linear(sentences * length, d_ff, d_model)

    for _ in range(model.n_encoder_layers):
        yield from self_attention(src)
        yield from feed_forward(src)
    for _ in range(model.n_decoder_layers):
        yield from self_attention(tgt)
        yield linear(sentences * tgt, d_model, queries)
        yield linear(sentences * src, d_model, keys_values)
        yield from attention(tgt, src)
        yield from feed_forward(tgt)
    n_rows = chunk_rows(device)
    for start in range(0, scored, n_rows):
        yield linear(min(n_rows, scored - start), d_model, vocab_size)


def best_s(product: Product, dtype: torch.dtype) -> float:
    """Seconds of the fastest run, in the faster of two layouts."""
    n, rows, inner, columns = product
    left, right = torch.randn(n, rows, inner).to(dtype), torch.randn(n, inner, columns).to(dtype)
    if n == 1:
        left, right = left[0], right[0]
    turned = right.mT.contiguous().mT  # column after column
    return min(_best_run_s(lambda: left @ right), _best_run_s(lambda: left @ turned))


def _best_run_s(multiply: Callable[[], Tensor]) -> float:
    is_cuda = multiply().is_cuda  # the first one may set the library up
    n_at_a_time = RUNS_AT_A_TIME if is_cuda else 1
    runs: list[float] = []
    while len(runs) < FEWEST_RUNS or sum(runs) < LONG_ENOUGH_S:
        began = time.perf_counter()
        for _ in range(n_at_a_time):
            multiply()
        if is_cuda:
            torch.cuda.synchronize()
        runs.append(time.perf_counter() - began)
    return min(runs) / n_at_a_time


if __name__ == "__main__":
    main()
