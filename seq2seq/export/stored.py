"""Are weights fit to be shipped, and did they come back as they were written?"""

from pathlib import Path

import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import CheckpointError
from seq2seq.export.parity import ParityError


def check_finite(trained: TrainedModel) -> None:
    """Refuse a model that diverged. A relu can hide such a weight from every output, and from every comparison.

    Raises:
        CheckpointError: a weight is not a finite number.
    """
    damaged = [name for name, weight in trained.weights.items() if not weight.isfinite().all()]
    if damaged:
        names = ", ".join(damaged[:3]) + (f" and {len(damaged) - 3} more" if damaged[3:] else "")
        raise CheckpointError(
            f"{trained.path}: the weights in {names} are not all finite numbers, so training diverged; export an "
            "earlier checkpoint"
        )


def read_back(original: TrainedModel, directory: Path) -> TrainedModel:
    """Read what was written, and compare each bit.

    Raises:
        ParityError: something differs.
    """
    copy = TrainedModel.read(directory)
    expected, stored = original.weights, copy.weights
    different = [
        name
        for name, weight in expected.items()
        if name not in stored or stored[name].dtype != weight.dtype or not torch.equal(stored[name], weight)
    ]
    if different or len(stored) != len(expected):
        raise ParityError(f"model.safetensors did not come back as it was written ({', '.join(different)}); try again")
    return copy
