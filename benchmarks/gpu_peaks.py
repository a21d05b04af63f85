"""What GPUs could do at most: dense matrix products, as their makers publish it. Nothing here was measured."""

import re
from typing import NamedTuple


class Peak(NamedTuple):
    """In TFLOP/s, without sparsity.

    Attributes:
        bf16: with sums in float32; of older GPUs, which have no bf16, that of fp16.
        fp32: of plain float32, not of TF32.
    """

    bf16: float
    fp32: float


# By words of the name that torch gives. The first one counts whose words are all there.
PEAKS = {
    "GB200": Peak(2500, 80),
    "B200": Peak(2250, 75),
    "H200": Peak(989, 67),
    "H100 PCIe": Peak(756, 51),
    "H100 NVL": Peak(835, 60),
    "H100": Peak(989, 67),
    "H800": Peak(989, 67),
    "GH200": Peak(989, 67),
    "H20": Peak(148, 44),
    "A100": Peak(312, 19.5),
    "A800": Peak(312, 19.5),
    "A40": Peak(149.7, 37.4),
    "A30": Peak(165, 10.3),
    "A10G": Peak(70, 35),
    "A10": Peak(125, 31.2),
    "A6000": Peak(154.8, 38.7),
    "6000 Ada": Peak(364, 91),
    "L40S": Peak(362, 91.6),
    "L40": Peak(181, 90.5),
    "L4": Peak(121, 30.3),
    "RTX 5090": Peak(209.5, 104.8),
    "RTX 4090": Peak(165.2, 82.6),
    "RTX 3090": Peak(71, 35.6),
    "V100": Peak(125, 15.7),
    "T4": Peak(65, 8.1),
}


def peak_of(name: str) -> Peak | None:
    """The peak of a GPU by the name that torch gives; None for one that is not in the table."""
    words = set(re.split(r"[^A-Za-z0-9]+", name))
    return next((peak for words_of, peak in PEAKS.items() if set(words_of.split()) <= words), None)
