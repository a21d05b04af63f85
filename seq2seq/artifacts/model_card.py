"""What a model directory says about itself: its README.md."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seq2seq.config import RunConfig
from seq2seq.errors import CheckpointError


def model_card(
    config: RunConfig, n_parameters: int, vocab_size: int, weights: Sequence[str], run_dir: Path | None
) -> str:
    """The text of README.md, in Markdown.

    Args:
        weights: a line about each form of the weights.
        run_dir: where scores.json and selection.json are, if the run has ended; None if there is no run.
    Raises:
        CheckpointError: one of these files is damaged.
    """
    model, data = config.model, config.data
    lines = [
        f"# {config.name}: {data.src_lang} to {data.tgt_lang}",
        "",
        f"A Transformer that translates {data.src_lang} into {data.tgt_lang}, trained on {data.name} with seq2seq.",
        "",
        f"- {n_parameters:,} parameters; {model.n_encoder_layers} encoder and {model.n_decoder_layers} decoder layers, "
        f"d_model {model.d_model}, {model.n_heads} heads, d_ff {model.d_ff}",
        f"- {model.norm}-norm, {model.activation}, {model.positions} positions, {model.embeddings} embeddings",
        f"- {vocab_size:,} SentencePiece pieces ({config.tokenizer.model_type}), for both languages",
        f"- sources of up to {model.max_length - 1} tokens; {data.max_sentence_tokens} at most in training",
        *([f"- tags for kinds of text (`--tag`): {', '.join(data.tags)}"] if data.tags else []),
        *(f"- {line}" for line in weights),
        "",
        "## Scores",
        "",
        *_scores(run_dir),
        "",
        "## Use",
        "",
        "    python translate.py --model DIR --input FILE --output FILE",
        "",
        "or, in Python,",
        "",
        "    import seq2seq",
        "",
        '    seq2seq.load("DIR").translate(["..."])[0].text',
    ]
    return "\n".join(lines) + "\n"


def _scores(run_dir: Path | None) -> list[str]:
    selection = _json(run_dir, "selection.json")
    valid = selection.get("valid", {}).get(selection.get("selected"), {})
    tests = _json(run_dir, "scores.json")
    if not valid and not tests:
        return ["The run that this model was exported from had not been scored."]
    rows = ["| text | metric | score | signature |", "|---|---|---|---|"]
    signatures = {
        metric: re.sub(r"\|bs:\d+\|seed:\w+", "", score["signature"])
        for scores in tests.values()
        for metric, score in scores.items()
    }
    for metric, value in valid.items():  # scored alike but for the interval, and stored without its signature
        rows.append(f"| valid | {metric} | {value:.2f} | {_code(signatures.get(metric, ''))} |")
    for name, scores in tests.items():
        for metric, score in scores.items():
            interval = f" ± {score['half_width']:.2f}" if "half_width" in score else ""  # older runs had none
            rows.append(f"| {name} | {metric} | {score['score']:.2f}{interval} | {_code(score['signature'])} |")
    return rows


def _code(signature: str) -> str:
    return f"`{signature}`".replace("|", "\\|") if signature else ""  # a bar would end the column


def _json(run_dir: Path | None, name: str) -> Mapping[str, Any]:
    if run_dir is None or not (run_dir / name).is_file():
        return {}
    try:
        content: Mapping[str, Any] = json.loads((run_dir / name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{run_dir / name}: is not JSON, so it is damaged; restore or delete it") from error
    return content
