"""The model card, README.md of a model directory: what the model is, what it scored, how to use it."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

import yaml

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.characters import base_language
from seq2seq.config import DROPOUTS, ModelConfig, RunConfig
from seq2seq.dataset.seen import SeenText
from seq2seq.masking import masked

# Keys of the model that each card has words for.
_DESCRIBED = {"d_model", "n_heads", "d_ff", "n_encoder_layers", "n_decoder_layers", "max_length"}
_DESCRIBED |= {"norm", "activation", "positions", "embeddings", *DROPOUTS}

USE = (
    "    seq2seq translate --model DIR --input FILE --output FILE",
    "",
    "or, in Python,",
    "",
    "    import seq2seq",
    "",
    '    seq2seq.load("DIR").translate(["..."])[0].text',
)


def model_card(
    config: RunConfig,
    n_parameters: int,
    vocab_size: int,
    weights: Sequence[str],
    run: RunDirectory | None,
    seen: SeenText | None = None,
    use: Sequence[str] = USE,
) -> str:
    """The text of README.md, in Markdown.

    Args:
        weights: a line of text for each form of the weights.
        run: the run with the scores, if it has ended; None if there is no run.
        seen: what the training text was like, if the model says so.
        use: how to use it, in lines of Markdown.
    Raises:
        RunError: the files with the scores are damaged.
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
        *([f"- {variant}"] if (variant := _variant(model)) else []),
        f"- {vocab_size:,} SentencePiece pieces ({config.tokenizer.model_type}), for both languages",
        f"- sources of up to {model.max_length - 1} tokens; {data.max_sentence_tokens} at most in training",
        *([f"- trained on {seen}"] if seen else []),
        *(f"- text: {masked(each['name'])} (licence: {each['licence'] or 'not known'})" for each in _fetched(run)),
        *([f"- tags for kinds of text (`--tag`): {', '.join(data.tags)}"] if data.tags else []),
        *(f"- {line}" for line in weights),
        "",
        "## Scores",
        "",
        *_scores(run),
        "",
        "## Use",
        "",
        *use,
    ]
    return "\n".join(lines) + "\n"


def hub_metadata(config: RunConfig, run: RunDirectory | None) -> str:
    """What a model card begins with on the Hugging Face hub: languages, terms of the text, scores; in YAML.

    The hub knows licences of models, by names of its own. So ours are another one, which says whose they are. Of a
    language such as zh-CN it takes the first part, if that is a code of ISO 639.

    Raises:
        RunError: the files with the scores are damaged.
    """
    licences = {f"text: {each['licence']}": None for each in _fetched(run) if each["licence"]}
    languages = map(base_language, (config.data.src_lang, config.data.tgt_lang))
    content: dict[str, Any] = {
        "language": [code for code in dict.fromkeys(languages) if re.fullmatch("[a-z]{2,3}", code)],
        "library_name": "transformers",
        "pipeline_tag": "translation",
        "tags": ["translation", "seq2seq"],
        **({"license": "other", "license_name": "; ".join(licences)} if licences else {}),
    }
    if run is not None and run.is_scored:
        content["model-index"] = [
            {
                "name": config.name,
                "results": [
                    {
                        "task": {"type": "translation", "name": f"{config.data.src_lang} to {config.data.tgt_lang}"},
                        "dataset": {"type": config.data.name, "name": test},
                        "metrics": [
                            {
                                "type": metric,
                                "name": metric,
                                "value": round(score.score, 2),
                                "args": {"signature": score.signature},
                            }
                            for metric, score in scores.items()
                        ],
                    }
                    for test, scores in run.scores().items()
                ],
            }
        ]
    return f"---\n{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}---\n\n"


def _variant(model: ModelConfig) -> str:
    """What else of the model is not as usual, by its keys."""
    return ", ".join(
        f"{field.name} {value}"
        for field in dataclasses.fields(model)
        if field.name not in _DESCRIBED and (value := getattr(model, field.name)) != field.default
    )


def _fetched(run: RunDirectory | None) -> list[dict[str, Any]]:
    """The corpora that were fetched by name, with their terms, which bind whoever passes the model on."""
    splits = run.provenance().get("data_report", {}).get("splits", {}) if run else {}
    origins: list[dict[str, Any]] = splits.get("train", {}).get("origins", [])
    return origins


def _scores(run: RunDirectory | None) -> list[str]:
    if run is None or not run.is_scored:
        return ["The run that this model was exported from had not been scored."]
    selection, tests = run.selection(), run.scores()
    valid, intervals = selection.valid[selection.selected], selection.intervals
    rows = ["| text | metric | score | signature |", "|---|---|---|---|"]
    rows += [f"| valid | {metric} | {value:.2f} | |" for metric, value in valid.items() if metric not in intervals]
    for name, scores in [("valid", intervals), *tests.items()]:
        for metric, score in scores.items():
            rows.append(
                f"| {name} | {metric} | {score.score:.2f} ± {score.half_width:.2f} | {_code(score.signature)} |"
            )
    return rows


def _code(signature: str) -> str:
    return f"`{signature}`".replace("|", "\\|") if signature else ""  # a bar would end the column
