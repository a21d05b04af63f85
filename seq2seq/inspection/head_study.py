"""All that is asked about the heads of a model: the text, the reference alignment, the figures, the ablation."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import ConfigError, CorpusError, TranslationError
from seq2seq.hardware import speed_up_cpu
from seq2seq.inspection.ablating import Ablation, ablate
from seq2seq.inspection.heads import HeadReport, look_at_heads, readable
from seq2seq.inspection.link_scores import Reference, read_links
from seq2seq.inspection.paired_text import PairedText, of_files, of_test_set, training_pairs
from seq2seq.inspection.torch_model import torch_model
from seq2seq.inspection.word_aligner import WordAligner
from seq2seq.model.transformer import Transformer

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class HeadRequest:
    """What the user asks for.

    Attributes:
        model: a run directory, a checkpoint file or a model directory.
        files: source and target; None: the test set.
        test: a test set of the run; empty: its first one.
        tag: the kind of text of the sources, for models that have tags; empty: that of the test set, if it has one.
        n_sentences: how many are looked at, at equal distances; 0: all.
        ablation: how many of these are translated without each part; 0: none.
        links: a file of reference links for all lines of the text; None: IBM model 1 makes them.
    """

    model: Path
    files: tuple[Path, Path] | None = None
    test: str = ""
    tag: str = ""
    n_sentences: int = 0
    ablation: int = 0
    links: Path | None = None
    device: str = "auto"


def study_heads(request: HeadRequest, tell: Tell) -> HeadReport:
    """Do what is asked.

    Args:
        tell: called now and then with what is going on.
    Raises:
        UserError: the model, the text or the links cannot be read, or do not fit each other.
    """
    if request.files and request.test:
        raise ConfigError("--test and --src/--tgt name two texts; give one of them")
    speed_up_cpu()
    trained = TrainedModel.read(request.model)
    model = torch_model(trained, request.device)
    text = (
        of_files(*request.files) if request.files else of_test_set(trained, RunDirectory(request.model), request.test)
    )
    tag = trained.tokenizer.tag(request.tag or text.tag)
    kept_links = read_links(request.links, text.pairs) if request.links else None
    places = text.places(request.n_sentences)
    chosen = text.at(places)
    fitting = readable(model, trained.tokenizer, chosen.pairs, len(tag))
    if not fitting:
        raise TranslationError(f"{text.name}: no pair has two sides that the model can read; give other text")
    seen = chosen.at(fitting)
    tell("aligning words")
    if kept_links is None:
        name, reference = _model_1(trained, seen.pairs)
    else:
        name, reference = str(request.links), [kept_links[places[i]] for i in fitting]
    begin = time.monotonic()
    tell("looking at the heads")
    figures, alignment = look_at_heads(model, trained.tokenizer, seen.pairs, tag, reference)
    return HeadReport(
        model=str(request.model),
        text=text.name,
        n_pairs=len(fitting),
        n_left_out=len(places) - len(fitting),
        figures=figures,
        reference=name,
        alignment=alignment,
        seconds=time.monotonic() - begin,
        ablation=_ablation(trained, model, seen, tag, request.ablation, tell) if request.ablation else None,
    )


def _model_1(trained: TrainedModel, pairs: list[tuple[str, str]]) -> tuple[str, list[Reference]]:
    """Links that IBM model 1 finds, and what it has learned from."""
    try:
        training = training_pairs(trained.config.data)
    except CorpusError:
        training = []
    what = (
        f"{len(training):,} training pairs and these" if training else "these pairs alone, since the corpus is not here"
    )
    aligner = WordAligner.train([*training, *pairs])
    return f"IBM model 1, learned from {what}", [Reference(*aligner.links(*pair)) for pair in pairs]


def _ablation(
    trained: TrainedModel, model: Transformer, text: PairedText, tag: Sequence[int], n: int, tell: Tell
) -> Ablation:
    some = text.at(text.places(n))
    sources = [[*tag, *ids] for ids in trained.tokenizer.encode(some.sources)]
    return ablate(model, sources, some.references, trained.tokenizer, trained.config, tell)
