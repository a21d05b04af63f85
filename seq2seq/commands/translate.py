"""Translate text, a line for each line:  python translate.py --model RUN_DIR < input.fr > output.en

Results go to stdout or --output, everything else to stderr.
"""

import argparse
import re
from typing import Any

from seq2seq.errors import TranslationError, UserError
from seq2seq.exit_status import note
from seq2seq.options import add_table, flag, table
from seq2seq.translation.forms.read import doubt, form_of
from seq2seq.translation.options import (
    DecodingSettings,
    EngineOptions,
    EngineSettings,
    TextSettings,
    TranslationOptions,
)
from seq2seq.translation.request import TranslationRequest
from seq2seq.translation.streams import open_descriptor

OPTIONS = table(TranslationRequest, TextSettings, DecodingSettings, EngineSettings)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Translate text with a trained model: a line for each line, a document for a document."
    parser.epilog = (
        "Files may be compressed (.gz, .xz, .bz2, .zst). Lines end at LF only, text is UTF-8. The search has the "
        "settings of the model's validation, unless you give others. Lines of more sentences than those in training "
        "are split, and joined again."
    )
    add_table(parser, OPTIONS)


def run(args: argparse.Namespace) -> None:
    try:
        request = request_of(args)
        is_guess = args.input_form is None and request.input_form == "lines"
        if is_guess and not request.is_quiet and (doubtful := doubt(request.input)):
            note(f"warning: {doubtful}")
        from seq2seq.export.automatic import with_ctranslate2
        from seq2seq.translation.run import translate

        translate(request, with_ctranslate2)
    except UserError as error:
        error.args = (in_options(str(error)),)
        raise


def request_of(args: argparse.Namespace) -> TranslationRequest:
    """The request that the options describe.

    Raises:
        TranslationError: options that make no sense together.
    """
    given = {name: value for name in OPTIONS if (value := getattr(args, name)) is not None}
    given["input_form"] = form_of(given.get("input_form", "auto"), given.get("input_field"), given.get("input"))
    _check(given)
    if given["input_form"] == "markdown":  # whose elements are markup in its texts
        given["keep"] = tuple(dict.fromkeys(("markup", *given.get("keep", ()))))
    for name, standard in (("input", 0), ("output", 1)):
        if open_descriptor(given.get(name)) == standard:
            given[name] = None
    if "n_best" in given:
        given.setdefault("form", "n-best")
    for name in ("max_length", "min_length"):
        if limits := given.get(f"{name}_a"):
            given |= {f"{name}_a": limits[0], f"{name}_b": round(limits[1])}
    given |= {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    settings: Any = {"n_best": 1, "sampling": False, **_of(DecodingSettings, given)}
    own = table(TranslationRequest)
    return TranslationRequest(
        **{name: value for name, value in given.items() if name in own},
        settings=settings,
        options=TranslationOptions(**_of(TextSettings, {**given, "terms": ()})),
        engine=EngineOptions(**_of(EngineSettings, given), max_batch_tokens=given.get("max_batch_tokens", 0)),
    )


def in_options(message: str) -> str:
    """A message with the options of this command in place of configuration keys: `--beam-size=0` is below 1."""
    return _KEY.sub(lambda match: f"{_NAMES[match[1]]}=", message).replace("--sample=true", "--sample")


def _of(settings: type, given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in settings.__annotations__}


def _names() -> dict[str, str]:
    """What a message calls a configuration key or an argument from Python, when a command line is at fault."""
    found = {}
    for name, option in table(TextSettings, DecodingSettings, EngineSettings).items():
        found[name] = flag(OPTIONS, name)
        if isinstance(option.metavar, tuple):
            found |= {f"{name[:-1]}{each.lower()}": f"{found[name]} A B with {each}" for each in option.metavar}
    return found


_NAMES = _names()
_KEY = re.compile(rf"(?<![\w.])(?:decoding\.)?({'|'.join(_NAMES)})=")


def _check(given: dict[str, Any]) -> None:
    """Refuse options that make no sense together."""
    for name, option in OPTIONS.items():
        if name not in given:
            continue
        if option.needs and option.needs not in given:
            raise TranslationError(f"{flag(OPTIONS, name)} needs {flag(OPTIONS, option.needs)}")
        if option.is_by_line and given["input_form"] != "lines":
            raise TranslationError(
                f"{flag(OPTIONS, name)} needs one text a line; leave it out, or translate line by line with "
                "--form lines"
            )
        if option.is_for_search and "score" in given:
            raise TranslationError(f"{flag(OPTIONS, name)} has no meaning with --score, which translates nothing")
