"""Text of the target language gets sources (Sennrich et al. 2016), and becomes training text.

    OUTPUT/backtranslation.json    what is translated: the same command goes on, and another one is refused
           text.LANG               all lines that are not blank
           sources.LANG            what the model makes of each
           train.LANG              the pairs that the rules of `corpus clean` leave, one file for each language

Sources are drawn at random by default. Those of a search are all alike, and teach less where the model is good
(Edunov et al. 2018); a weak one draws nonsense. A tag tells the two kinds of pairs apart (Caswell et al. 2019).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config.command import path_word
from seq2seq.corpus.reader import read_lines
from seq2seq.errors import ConfigError
from seq2seq.files import atomic_file
from seq2seq.steps import check_monolingual, claim, clean, do, n_gpus, refuse_several

TAG = "backtranslated"


@dataclass(frozen=True)
class BackTranslation:
    """What is translated back, and where.

    Attributes:
        models: from the language of the text to the other one; several are an ensemble.
        monolingual: files of sentences, one a line.
        beam_size: of a search; 0: sources are drawn at random.
        seed: of what is drawn.
        n_processes: that translate together; 0: one for each GPU, or one if there is none.
    """

    models: tuple[Path, ...]
    monolingual: tuple[Path, ...]
    output: Path
    beam_size: int = 0
    seed: int = 1
    n_processes: int = 0

    def run(self) -> None:
        """Do it, or what is left of it, and print how `train.py` reads the pairs.

        Raises:
            UserError: wrong input, or the output belongs to something else.
            SystemExit: a step failed, and has said why.
        """
        refuse_several("backtranslate")
        check_monolingual(self.monolingual)
        languages = {(data.src_lang, data.tgt_lang) for data in (TrainedModel.read(m).config.data for m in self.models)}
        if len(languages) > 1:
            raise ConfigError("the models of an ensemble must translate the same two languages")
        ((own, other),) = languages
        of_what = {
            "models": [str(model.absolute()) for model in self.models],
            "monolingual": [str(file.absolute()) for file in self.monolingual],
            "beam_size": self.beam_size,
            "seed": self.seed,
        }
        claim(self.output, "backtranslation", of_what)
        text, sources, pairs = self.output / f"text.{own}", self.output / f"sources.{other}", self.output / "train"
        if not text.exists():
            with atomic_file(text) as file:
                file.writelines(f"{line}\n".encode() for line in self._lines())
        if not sources.exists():
            drawn = ["--beam-size", self.beam_size] if self.beam_size else ["--sample", "--seed", self.seed]
            words = ["--model", *self.models, "--input", text, "--output", sources, *drawn]
            do("translate", *words, n_processes=self.n_processes or n_gpus())
        clean([sources, text], [other, own], pairs)
        entry = f"{{source:{path_word('', pairs.absolute())[1:]},tag:{TAG}}}"
        print(f"train from {other} to {own} with it:  data.train=[train,{entry}]")

    def _lines(self) -> Iterator[str]:
        return (line for file in self.monolingual for line in read_lines(file) if line.strip())
