"""The plan of an epoch in the plainest form: the batches that every run so far was trained on."""

import numpy as np


def plain_plan(src_lengths, tgt_lengths, *, max_tokens, seed, epoch, world_size=1):
    """Lists of the pairs of each micro-batch; ValueError if they do not share out over the ranks."""
    rng = np.random.default_rng((seed, epoch))
    src, tgt = src_lengths.tolist(), tgt_lengths.tolist()
    order = sorted(rng.permutation(len(src)).tolist(), key=lambda i: (tgt[i], -src[i] if tgt[i] % 2 else src[i]))
    batches: list[list[int]] = []
    while order:
        n_rows, longest = 0, 0
        for i in order:
            longest = max(longest, src[i] + 1, tgt[i] + 1)
            if (n_rows + 1) * longest > max_tokens:
                break
            n_rows += 1
        if 64 <= n_rows < len(order):
            n_rows -= n_rows % 8
        batches.append(order[:n_rows])
        order = order[n_rows:]
    while len(batches) % world_size:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        rows = batches[largest]
        if len(rows) == 1:
            raise ValueError
        batches[largest : largest + 1] = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
    groups = rng.permutation(len(batches) // world_size)
    return [batches[group * world_size + rank] for group in groups for rank in range(world_size)]
