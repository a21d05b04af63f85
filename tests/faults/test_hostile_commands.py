"""Any words on a command line give a result, or an error in one sentence with status 2; never a traceback or a hang."""

import argparse
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.commands import train as train_command
from seq2seq.commands import translate as translate_command
from seq2seq.config import RunConfig, read_config
from seq2seq.config.on_resume import classes
from seq2seq.errors import ConfigError
from seq2seq.training import launch
from tests.faults.many import COSTLY_FAULTS, FAULTS
from tests.faults.sentences import assert_helps, may_refuse
from tests.places import ROOT
from tests.translating import Cli

pytestmark = pytest.mark.slow

_NUMBERS = st.integers(-2, 9) | st.floats(-1, 3) | st.sampled_from([10**6, 10**12, 2**63, 10**400, 1e308, 1e-300])
_SPELLED = [
    *("nan", "inf", "-inf", "1e400", "0x10", "1_0", "٣", "²", "", " ", "-", "--", "a=b", ",", "9" * 5_000, "\ud800"),
]
TEXTS = st.text(st.characters(exclude_characters="\x00"), max_size=8) | st.sampled_from(_SPELLED)

# --- train.py ---

_HYDRA = [
    *("null", "???", "true", "[1,2", "[1,[a:b]]", "{a:1}", "{a:{b:[]}}", "${seed}", "${a.b}", "${oc.env:NONE}"),
    *("${", "}", "'", '"a', "\\", "choice(1,2)", "range(1,3)", "glob(*)", "int(x)", "sort(1,2)", "a,b", "tag(a,1)"),
    *("@", "~", "#"),
]
_VALUES = _NUMBERS.map(str) | TEXTS | st.sampled_from(_HYDRA)
_KEYS = st.sampled_from(
    [*sorted(classes(RunConfig)), *("data", "model", "optim", "seed.x", "logger.x", "trainer..x", "")]
)
_GROUPS = st.sampled_from([path.name for path in (ROOT / "conf").iterdir() if path.is_dir()])
_SIGNS = st.sampled_from(["", "", "", "+", "++", "~"])


@st.composite
def hydra_words(draw: st.DrawFn) -> list[str]:
    """Words that set keys or choose presets. Hydra's own key is left out: it may name any function."""
    pairs = draw(
        st.lists(st.tuples(_SIGNS, _KEYS | _GROUPS | TEXTS, st.sampled_from(["=", "=", "", "@"]), _VALUES), max_size=3)
    )
    words = ["".join(pair) for pair in pairs]
    # Nor are options, such as --config-dir, nor a sweep's directory.
    assume(not any(word.lstrip("+~ ").startswith(("-", "hydra", "run_dir", "resume", "finetune")) for word in words))
    return words


@COSTLY_FAULTS
@given(words=hydra_words())
@example(words=["+batch.accumulate=0"])  # of which Hydra says more than a line
@example(words=[f"{'9' * 5_000}=null"])
@example(words=["model=null"])
@example(words=["seed=" + "9" * 5_000])
@example(words=["data.train={source: a}"])
@example(words=["data.train=" + "[" * 1_000])
@example(words=["seed" + "1" * 400])
def test_the_words_of_a_training(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """From the words to a configuration that is checked, with Hydra as it is; what comes then would be a training."""
    read: list[Any] = []

    def launched(job: Any, words: list[str], ranks: object) -> None:
        read.append(read_config(job.cfg))

    run_dir = tmp_path_factory.getbasetemp() / "hostile_words"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.getbasetemp())
        patch.setattr(launch, "launch", launched)
        patch.setattr(sys, "argv", ["train.py"])
        try:
            train_command.run([*words, f"run_dir={run_dir}"])
        except ConfigError as error:
            assert_helps(error)
        else:
            (config,) = read
            assert isinstance(config, RunConfig)


_YAML = [*"a: \n[]|>'", "- ", "  ", "&x", "*x", "!!python/object:os.system", "${seed}", "data", "model"]


@FAULTS
@given(text=st.text(max_size=60) | st.lists(st.sampled_from(_YAML), max_size=14).map("".join))
@example(text="a: &x [*x]")
@example(text="&x a: *x")
def test_a_saved_configuration(tmp_path: Path, text: str) -> None:
    """`config.yaml` of a run, with any text."""
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    for read in (RunDirectory(tmp_path).config, RunDirectory(tmp_path).languages):
        with may_refuse(tmp_path):
            read()


# --- translate.py ---


def options() -> dict[str, argparse.Action]:
    """Each option of translate.py that takes part, by its last name."""
    parser = argparse.ArgumentParser()
    translate_command.add_options(parser)
    # More processes and threads than there are cores are for the tests of workers; the rest is what `Cli` gives.
    left_out = {"help", "model", "output", "device", "precision", "threads", "workers", "input"}
    return {action.option_strings[-1]: action for action in parser._actions if action.dest not in left_out}


OPTIONS = options()


@st.composite
def translate_words(draw: st.DrawFn) -> list[str]:
    """Options of translate.py with values that they may take, or with any others."""
    words: list[str] = []
    for name in draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=4, unique=True)):
        action = OPTIONS[name]
        words.append(name)
        n_values = {None: 1, 0: 0, "+": draw(st.integers(1, 2))}.get(action.nargs, action.nargs)
        for _ in range(int(n_values or 0)):
            good = st.sampled_from([str(each) for each in action.choices]) if action.choices else _NUMBERS.map(str)
            words.append(
                draw(good | good | TEXTS | st.sampled_from(["FILE", "LINES", "TERMS", "FOLDER", "a.b", "cuda", "all"]))
            )
    return words


@COSTLY_FAULTS
@given(
    words=translate_words(), stdin=st.sampled_from(["", "Un chat dort.\n", '{"fr": "Un chat."}\n', "1\n\n", "a\tb\n"])
)
@example(words=["--alpha", "1000000"], stdin="Un chat dort.\n")
@example(words=["--max-length", "1e308", "1"], stdin="Un chat dort.\n")
@example(words=["--field", str(2**63)], stdin="a\tb\n")
def test_the_options_of_a_translation(tmp_path: Path, random_run: Path, words: list[str], stdin: str) -> None:
    for name, text in (("FILE", "a\n"), ("LINES", stdin), ("TERMS", "chat\tcat\n")):
        (tmp_path / name).write_text(text)
    (tmp_path / "FOLDER").mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        status, out, err = Cli(random_run)(*words, stdin=stdin)
    assert "Traceback" not in err
    assert status in (0, 2), err
    if status == 2:
        assert "error: " in err
    elif "--n-best" not in words and "--nbest" not in words:
        assert out.count("\n") == stdin.count("\n")
