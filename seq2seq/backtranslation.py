"""Text of the target language gets sources (Sennrich et al. 2016), and becomes training text.

    OUTPUT/backtranslation.json    what is translated: the same command goes on, and another one is refused
           text.LANG               all lines that are not blank
           sources.LANG            what the model makes of each
           train.LANG              the pairs that the rules of `corpus clean` leave, one file for each language

Sources are drawn at random by default. Those of a search are all alike, and teach less where the model is good
(Edunov et al. 2018); a weak one draws nonsense. A tag tells the two kinds of pairs apart (Caswell et al. 2019).
"""

import shlex
from collections.abc import Sequence
from pathlib import Path

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config.command import path_word
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import ConfigError
from seq2seq.files import atomic_file
from seq2seq.steps import check_launch, check_monolingual, claim, clean, translate
from seq2seq.translation.engines.load import check_ensemble

TAG = "backtranslated"


def backtranslate(
    models: Sequence[Path],
    monolingual: Sequence[Path],
    output: Path,
    *,
    beam_size: int,
    seed: int,
    n_processes: int,
    launcher: str,
) -> None:
    """Do it, or what is left of it, and print how `train.py` reads the pairs.

    Args:
        models: from the language of the text to the other one; several are an ensemble.
        monolingual: files of sentences, one a line.
        beam_size: of a search; 0: sources are drawn at random.
        seed: of what is drawn.
        n_processes: of this machine that translate together; 0: one for each GPU, or one if there is none.
        launcher: a command that starts the processes of translation.
    Raises:
        UserError: wrong input, or the output belongs to something else.
        SystemExit: a step failed, and has said why.
    """
    check_launch("backtranslate", n_processes, launcher)
    check_monolingual(monolingual)
    trained = [TrainedModel.read(model) for model in models]
    languages = {(data.src_lang, data.tgt_lang) for data in (model.config.data for model in trained)}
    if len(languages) > 1:
        raise ConfigError("the models of an ensemble must translate the same two languages")
    check_ensemble(trained)
    ((own, other),) = languages
    of_what = {
        "models": [str(model.absolute()) for model in models],
        "monolingual": [str(file.absolute()) for file in monolingual],
        "beam_size": beam_size,
        "seed": seed,
    }
    claim(output, "backtranslation", of_what)
    text, sources, pairs = output / f"text.{own}", output / f"sources.{other}", output / "train"
    if not text.exists():
        lines = (line for file in monolingual for line in read_lines(file) if line.strip())
        with atomic_file(text) as file:
            file.writelines(f"{line}\n".encode() for line in lines)
    if not sources.exists():
        drawn = ["--beam-size", beam_size] if beam_size else ["--sample", "--seed", seed]
        words = ["--model", *models, "--input", text, "--form", "lines", "--output", sources, *drawn]
        translate(*words, n_processes=n_processes, launcher=launcher)
    clean([sources, text], [other, own], pairs)
    entry = f"{{source:{path_word('', pairs.absolute())[1:]},tag:{TAG}}}"
    print(f"train from {other} to {own} with it:  {shlex.quote(f'data.train=[train,{entry}]')}")
