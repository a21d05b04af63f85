"""How fast does a plain loop around torch.nn.Transformer train?  PYTHON benchmarks/peers/plain_train.py JOB

It is what one would write after reading the paper, without a toolkit and without looking for speed. It needs only
torch. benchmarks/train_speed.py writes JOB.

Shapes: B sentences, S source tokens, T target tokens, D d_model, V vocabulary
"""

import math
import random
import warnings
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from meter import BOS, PAD, Job, Meter
from torch import Tensor, nn


def main() -> None:
    job = Job.from_arguments(__doc__)
    if job.threads:
        torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    warnings.filterwarnings("ignore")
    pairs, rng, meter = job.ids(), random.Random(job.seed), Meter(job)
    model, optim = Model(job).to(job.device), job.optim
    optimizer = torch.optim.Adam(
        model.parameters(), lr=optim["lr"], betas=(optim["beta1"], optim["beta2"]), eps=optim["eps"]
    )
    for indices in endless_batches(pairs, job.max_tokens, rng):
        src, tgt = (padded([pairs[i][side] for i in indices]).to(job.device) for side in (0, 1))  # (B, S), (B, T)
        tgt_in = torch.cat([tgt.new_full((len(tgt), 1), BOS), tgt[:, :-1]], dim=1)  # (B, T)
        with torch.autocast(job.device, torch.bfloat16, enabled=job.precision == "bf16"):
            logits = model(src, tgt_in)  # (B, T, V)
        loss = F.cross_entropy(
            logits.float().flatten(0, 1), tgt.flatten(), ignore_index=PAD, label_smoothing=optim["label_smoothing"]
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), optim["clip_norm"])
        optimizer.step()
        meter.count(src != PAD, tgt != PAD)
        if job.device == "cuda":
            torch.cuda.synchronize()
        meter.end_step()
        if meter.is_done:
            break
    more = {"peak_gb": torch.cuda.max_memory_allocated() / 1e9} if job.device == "cuda" else {}
    print(
        meter.report(
            **more,
            n_parameters=sum(parameter.numel() for parameter in model.parameters()),
            threads=torch.get_num_threads(),
            versions={"torch": torch.__version__},
        )
    )


class Model(nn.Module):
    positions: Tensor

    def __init__(self, job: Job) -> None:
        super().__init__()
        sizes = job.model
        self.scale = math.sqrt(sizes["d_model"])
        self.table = nn.Embedding(len(job.vocabulary()), sizes["d_model"])
        nn.init.normal_(self.table.weight, std=1 / self.scale)
        self.register_buffer("positions", sinusoids(sizes["max_length"], sizes["d_model"]))
        self.dropout = nn.Dropout(sizes["dropout"])
        self.transformer = nn.Transformer(
            sizes["d_model"],
            sizes["n_heads"],
            sizes["n_encoder_layers"],
            sizes["n_decoder_layers"],
            sizes["d_ff"],
            sizes["dropout"],
            batch_first=True,
            norm_first=sizes["norm"] == "pre",
        )
        for module in self.transformer.modules():  # torch also drops attention weights and what is inside feed-forward
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = sizes["attention_dropout"]
            if isinstance(module, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
                module.dropout.p = sizes["activation_dropout"]

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """src: (B, S); tgt_in: (B, T). Logits (B, T, V)."""
        is_pad = src == PAD  # (B, S)
        hidden = self.transformer(
            self.embed(src),
            self.embed(tgt_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(tgt_in.size(1), tgt_in.device),
            src_key_padding_mask=is_pad,
            memory_key_padding_mask=is_pad,
        )  # (B, T, D)
        return F.linear(hidden, self.table.weight)

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.table(ids) * self.scale + self.positions[: ids.size(1)])  # (B, L, D)


def sinusoids(max_length: int, d_model: int) -> Tensor:
    """(L, D); the paper's section 3.5, but all sines before all cosines."""
    frequencies = 10000 ** (-torch.arange(0, d_model, 2) / d_model)  # (D/2,)
    angles = torch.outer(torch.arange(max_length), frequencies)  # (L, D/2)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def endless_batches(
    pairs: list[tuple[list[int], list[int]]], max_tokens: int, rng: random.Random
) -> Iterator[list[int]]:
    """Epoch after epoch: sorted by length, cut where rows x longest target would pass `max_tokens`, then shuffled."""
    while True:
        order = rng.sample(range(len(pairs)), len(pairs))
        order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
        batches: list[list[int]] = [[]]
        for i in order:  # targets grow, so this one is the longest so far
            if batches[-1] and (len(batches[-1]) + 1) * len(pairs[i][1]) > max_tokens:
                batches.append([])
            batches[-1].append(i)
        rng.shuffle(batches)
        yield from batches


def padded(rows: list[list[int]]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)


if __name__ == "__main__":
    main()
