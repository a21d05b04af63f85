"""A search space as a sweep of Weights & Biases, whose agents give `train.py` the same words as a search would."""

from collections.abc import Sequence
from typing import Any

from seq2seq.sweeps.space import Choices, Numbers, Space, takes_whole_numbers


def wandb_sweep(space: Space, words: Sequence[str]) -> str:
    """The YAML that `wandb sweep` takes.

    Args:
        words: of `train.py`, for all runs.
    """
    from omegaconf import OmegaConf

    content: dict[str, Any] = {
        "program": "train.py",
        "method": "bayes",
        "metric": {"name": space.metric, "goal": "minimize" if space.minimizes else "maximize"},
        "run_cap": space.trials,
        "parameters": {key: _parameter(key, axis) for key, axis in space.axes.items()},
        "command": ["${env}", "${interpreter}", "${program}", *words, "${args_no_hyphens}"],
    }
    if space.prune_from:
        content["early_terminate"] = {"type": "hyperband", "min_iter": space.prune_from}
    return OmegaConf.to_yaml(content)


def _parameter(key: str, axis: Numbers | Choices) -> dict[str, Any]:
    if isinstance(axis, Choices):
        return {"values": list(axis.values)}
    limits = {"min": axis.low, "max": axis.high}
    if takes_whole_numbers(key):
        if axis.log:
            return {"distribution": "q_log_uniform_values", "q": 1, **limits}
        return (
            {"distribution": "q_uniform", "q": axis.step, **limits}
            if axis.step
            else {"distribution": "int_uniform", **limits}
        )
    limits = {name: float(limit) for name, limit in limits.items()}
    if axis.log:
        return {"distribution": "log_uniform_values", **limits}
    return (
        {"distribution": "q_uniform", "q": axis.step, **limits} if axis.step else {"distribution": "uniform", **limits}
    )
