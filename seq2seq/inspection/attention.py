"""One call of the command `attention`: from sentences to a page, a picture or an archive of numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.corpus.reader import read_aligned, read_lines
from seq2seq.errors import TranslationError
from seq2seq.exit_status import note
from seq2seq.files import write_text
from seq2seq.hardware import speed_up_cpu
from seq2seq.inspection.attention_file import write_attention
from seq2seq.inspection.attention_page import attention_page
from seq2seq.inspection.attention_picture import Shown, write_picture
from seq2seq.inspection.pair_attention import PairAttention, pair_attention
from seq2seq.reports.style import FORMATS
from seq2seq.translation.destination import check_file
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.options import EngineOptions
from seq2seq.translation.streams import open_descriptor, to_read
from seq2seq.translation.translator import Translator


@dataclass(frozen=True, kw_only=True)
class AttentionRequest:
    """What the command is asked for.

    Attributes:
        sources, targets: sentences and their translations. Without targets, the translations are the model's own.
        input, translations: the same as files, a sentence on each line; they are used if there are no `sources`.
        output: its ending says what is written: `.html`, `.npz`, or one of the formats of pictures.
        shown: of a picture.
    """

    model: Path
    sources: list[str]
    targets: list[str]
    input: Path
    translations: Path | None
    output: Path
    shown: Shown
    tag: str
    engine: EngineOptions


def look(request: AttentionRequest) -> None:
    """Write what the model looks at in each pair.

    Raises:
        UserError: wrong input, or something that the model cannot do.
    """
    inputs = [("--input", request.input), ("--translations", request.translations), ("--model", request.model)]
    read = [(option, path) for option, path in inputs if path is not None]
    check_file(request.output, read, endings=("html", *FORMATS, "npz"))
    form = request.output.suffix.lower()
    texts = list(_texts(request))
    if not texts:
        raise TranslationError("there is no sentence to look at; give one with --src, or a file with --input")
    model = TrainedModel.read(request.model)
    if not request.engine.device.startswith("cuda"):
        speed_up_cpu()
    translator = Translator([model], load_engine([model], request.engine), note)
    pairs = [_attention(translator, request.tag, number, *pair) for number, pair in enumerate(texts, start=1)]
    for number, pair in enumerate(pairs, start=1):
        for each in pair.notes:
            note(f"sentence {number}: {each}" if len(pairs) > 1 else each)
    if form == ".npz":
        write_attention(pairs, request.output)
    elif form == ".html":
        data = model.config.data
        name = request.model.resolve().name
        write_text(request.output, attention_page(pairs, name, (data.src_lang, data.tgt_lang)))
    else:
        write_picture(pairs, request.shown, request.output)


def _attention(translator: Translator, tag: str, number: int, src: str, tgt: str | None) -> PairAttention:
    try:
        return pair_attention(translator, src, tgt, tag=tag)
    except TranslationError as error:
        error.args = (f"sentence {number}: {error}",)
        raise


def _texts(request: AttentionRequest) -> Iterator[tuple[str, str | None]]:
    """The sentences, each with its translation if that is given. Blank lines are left out."""
    if request.sources:
        if request.targets and len(request.targets) != len(request.sources):
            raise TranslationError(
                f"--src is given {len(request.sources)} times and --tgt {len(request.targets)} times; give a "
                "translation for each source, or none"
            )
        targets: list[str] | list[None] = request.targets or [None] * len(request.sources)
        yield from zip(request.sources, targets, strict=True)
        return
    if request.translations is None:
        yield from ((line, None) for line in read_lines(to_read(request.input)) if line.strip())
        return
    if open_descriptor(request.input) == open_descriptor(request.translations) == 0:
        raise TranslationError("--input and --translations are both stdin; name a file for one of them")
    for src, tgt in read_aligned([to_read(request.input), to_read(request.translations)]):
        if src.strip() or tgt.strip():
            yield src, tgt
