"""A trained model in a form to ship, and a check that it still translates the same.

Read export.py, conversion.py, automatic.py, in this order.
"""

from dataclasses import dataclass
from pathlib import Path

FORMATS = ("safetensors", "ctranslate2")
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16")


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """One export.

    Attributes:
        source: run directory, checkpoint file or model directory.
        formats: one or both of `FORMATS`, in that order.
        quantization: type of CTranslate2's weights.
        tolerance: how far log-probabilities (nats) may be from the original's on average if weights are rounded; None
            for what is usual for the type.
        output: the directory to write; None for one of the run's, named by `label`.
        overwrite: replace a model directory of that name.
        parity_input: lines to compare CTranslate2 on; None for the validation set.
    """

    source: Path
    formats: tuple[str, ...]
    quantization: str = "float32"
    tolerance: float | None = None
    output: Path | None = None
    overwrite: bool = False
    parity_input: Path | None = None

    @property
    def label(self) -> str:
        """The name of the directory, if `output` gives none: formats and quantization."""
        return "-".join(self.formats) + ("" if self.quantization == "float32" else f"-{self.quantization}")
