"""`hours=H`: what is chosen from text, speed and time, and a run that takes it from there."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from seq2seq.config.compose import composed
from seq2seq.errors import TokenizerError
from seq2seq.training.composed import keys_set_by, run_of
from seq2seq.training.recipe import SIZES, Recipe, Text, Values, choose, with_recipe
from tests.training.tiny_runs import command, write_corpus


def chosen(
    n_pairs: int,
    hours: float,
    speed: float = 10_000,
    fits: int = 10**9,
    n_equal: int = 0,
    n_after: int = 0,
    spent: float = 0,
    **given: Any,
) -> Recipe:
    """For pairs of 20 tokens, where a model of 128 trains so many of them a second, and one twice as wide a third.

    Args:
        given: what the command sets, with `__` in place of a dot.
    """
    set_by_command = {name.replace("__", "."): value for name, value in given.items()}

    def settled(values: Values) -> Values:
        return values | {key: value for key, value in set_by_command.items() if key in values}

    def measure(values: Values) -> Any:
        vocab_size = int(values["tokenizer.vocab_size"])
        if vocab_size > fits:
            raise TokenizerError("too small")
        tokens_per_s = speed / {128: 1, 256: 3, 512: 12}[int(values["model.d_model"])]
        n_tokens = int(values["batch.max_tokens"]) // 2
        return SimpleNamespace(
            tokens_per_s=tokens_per_s,
            seconds_per_step=n_tokens / tokens_per_s,
            n_translated=n_after,
            steps_per_epoch=max(20 * n_pairs // n_tokens, 1),
            config=SimpleNamespace(
                tokenizer=SimpleNamespace(vocab_size=vocab_size),
                batch=SimpleNamespace(max_tokens=values["batch.max_tokens"]),
                model=SimpleNamespace(d_model=values["model.d_model"]),
                trainer=SimpleNamespace(
                    max_steps=set_by_command.get("trainer.max_steps", 0),
                    max_seconds=set_by_command.get("trainer.max_seconds", 0),
                ),
            ),
        )

    return choose(Text(n_pairs, n_equal, 100), hours, SIZES, measure, settled, lambda: spent)


def test_more_text_and_more_time_get_a_wider_model_and_more_subwords() -> None:
    hours, texts = (0.2, 2, 4, 1000), (3000, 10**5, 10**6)
    widths = {n: [chosen(n, each).values["model.d_model"] for each in hours] for n in texts}
    assert widths == {3000: [128, 128, 128, 128], 10**5: [128, 128, 256, 256], 10**6: [128, 128, 256, 512]}
    sizes = [int(chosen(n, 1).values["tokenizer.vocab_size"]) for n in (3000, 30_000, 640_000, 10**7)]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 4


def test_what_is_seen_more_often_has_more_dropout() -> None:
    dropout = [chosen(30_000, hours).values["model.dropout"] for hours in (0.05, 0.2, 0.4, 0.6, 3)]
    assert dropout[0] == 0
    assert dropout == sorted(dropout)
    assert len(set(dropout)) == len(dropout)


def test_where_there_is_time_for_few_steps_each_is_smaller() -> None:
    short, long = chosen(30_000, 0.1), chosen(30_000, 0.5)
    assert (short.values["batch.max_tokens"], long.values["batch.max_tokens"]) == (2048, 4096)
    assert any("3,270 steps of 2048 tokens" in reason for reason in short.reasons)
    # Little text is learned by heart before there are many steps.
    assert chosen(1000, 10).values["batch.max_tokens"] == 2048


def test_the_time_is_that_of_training_and_of_what_follows() -> None:
    assert chosen(30_000, 2).values["trainer.max_time"] == "00:01:51:36"  # 93% of it
    assert chosen(30_000, 50).values["trainer.max_time"].startswith("01:22:30")  # type: ignore[union-attr]


def test_long_tests_leave_less_time_for_training_but_half_of_it() -> None:
    """A target token of them takes four times as long as one of training, of which there are 10,000 a second."""
    long, too_long = chosen(30_000, 2, n_after=5 * 10**6), chosen(30_000, 2, n_after=2 * 10**7)
    assert long.values["trainer.max_time"] == "00:01:26:40"
    assert any("then about 0:33:20 of selection" in reason for reason in long.reasons)
    assert not any(reason.startswith("expect: more") for reason in long.reasons)
    assert too_long.values["trainer.max_time"] == "00:01:00:00"
    assert any(reason.startswith("expect: more than 2 hours") for reason in too_long.reasons)


def test_what_preparing_took_is_not_left_for_training() -> None:
    assert chosen(30_000, 2, spent=1200).values["trainer.max_time"] == "00:01:40:00"
    assert chosen(30_000, 2, spent=3 * 3600).values["trainer.max_time"] == "00:01:00:00"
    assert any("more than 2 hours" in reason for reason in chosen(30_000, 2, spent=3 * 3600).reasons)


def test_what_the_command_sets_decides_the_rest() -> None:
    few = chosen(30_000, 2, trainer__max_epochs=5)
    assert few.values["model.dropout"] == chosen(30_000, 2, trainer__max_steps=1500).values["model.dropout"] == 0
    assert few.values["trainer.max_epochs"] == 5
    assert chosen(30_000, 2, trainer__max_seconds=60).values["model.dropout"] == 0
    given = chosen(30_000, 2, model__dropout=0.4, batch__max_tokens=4096, trainer__max_steps=100)
    assert (given.values["model.dropout"], given.values["batch.max_tokens"]) == (0.4, 4096)
    assert any("so model.dropout=0.4" in reason for reason in given.reasons)
    assert "optim.lr" not in chosen(30_000, 2, optim__optimizer="adamw").values  # the rates are for Muon


def test_presets_set_only_their_own_keys(tmp_path: Path) -> None:
    words = ["trainer=gpu", "+optim=cosine", "trainer=mine", "augment=none", "model.dropout=0.2", "data.dir=/a/b"]
    (tmp_path / "trainer").mkdir()
    (tmp_path / "trainer" / "mine.yaml").write_text("devices: 1\n")
    presets = ["trainer.accelerator", "optim.schedule", "trainer.devices"]
    with composed(["data=sample"], tmp_path):
        assert list(keys_set_by(words)) == [*presets, "data.augment", "model.dropout", "data.dir"]


def test_text_with_fewer_subwords_gets_as_many_as_it_has() -> None:
    assert chosen(3000, 1, fits=900).values["tokenizer.vocab_size"] == 859  # 2,000 x 0.9, and so on, rounded down
    with pytest.raises(TokenizerError):
        chosen(3000, 1, fits=10)


@pytest.mark.parametrize(
    ("n_pairs", "hours", "n_equal", "expected"),
    [
        (10, 1, 0, "knows these 10 pairs and little else"),
        (20_000, 1, 19_000, "a model that copies, since 19,000 of 20,000 pairs"),
        (10**6, 0.1, 0, "little, since 17% of the text is seen, and once; an epoch takes 0:33:20"),
        (20_000, 40, 0, "no more from more time"),
        (30_000, 2, 0, "an extrapolation; no more than 580,187 pairs and 1 hour were tried"),
        (10**6, 1, 0, "an extrapolation"),
    ],
)
def test_text_that_fits_nothing_is_told(n_pairs: int, hours: float, n_equal: int, expected: str) -> None:
    told = [line for line in chosen(n_pairs, hours, n_equal=n_equal).reasons if line.startswith("expect: ")]
    assert any(expected in line for line in told)
    assert not any(line.startswith("expect: ") for line in chosen(30_000, 1).reasons)
    assert len(chosen(30_000, 1).reasons) == 5


def test_text_is_read_in_any_script() -> None:
    assert Text.of([("ab", "ba"), ("你", "你")]) == Text(2, 1, 3)
    assert Text(1000, 0, 6000).vocab_size > 6000 + 260


@pytest.mark.slow
def test_a_run_takes_its_keys_from_the_hours_and_keeps_them(tmp_path: Path) -> None:
    corpus, run_dir = write_corpus(tmp_path / "corpus"), tmp_path / "run"
    places = [f"data.dir={corpus}", f"data.cache_dir={tmp_path / 'cache'}", f"run_dir={run_dir}"]
    words = ["data=files", *places, "logger=csv", "model.dropout=0.15", "trainer.threads=1", "resume=auto"]
    words += ["augment=people", "trainer=cpu"]  # presets
    done = command(*words, "trainer.max_steps=6", "trainer.val_every_n_steps=3", "hours=0.02")
    assert done.returncode == 0, done.stderr
    config = yaml.safe_load((run_dir / "config.yaml").read_text())
    assert config["hours"] == 0
    assert (config["model"]["d_model"], config["model"]["positions"]) == (128, "rotary")
    assert config["model"]["dropout"] == 0.15  # as the command says
    assert "00:00:00:36" <= config["trainer"]["max_time"] <= "00:00:01:07"
    (again,) = [line for line in done.stderr.splitlines() if line.startswith("    python train.py ")]
    assert f"tokenizer.vocab_size={config['tokenizer']['vocab_size']}" in again
    assert "model.dropout=0.15" in again
    assert "hours=" not in again
    assert done.stderr.count("data report") == 1

    # With other hours another schedule would be chosen; the run has the keys that it began with.
    on = command(*words, "trainer.max_steps=9", "hours=0.5")
    assert on.returncode == 0, on.stderr
    config["trainer"]["max_steps"] = 9
    assert yaml.safe_load((run_dir / "config.yaml").read_text())["trainer"] == config["trainer"]

    # Another process of the run composes the same from the words that it is given.
    words = [*words, "trainer.max_steps=12", "hours=0.5"]
    with composed(words) as job:
        resumed, words_of_others = with_recipe(job, words)
    with composed(words_of_others) as other:
        assert run_of(other)[0] == run_of(resumed)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hours=1", "experiment=demo"], "experiment= and hours= exclude each other"),
        (["hours=1", "experiment=demo", "resume=auto"], "experiment= and hours= exclude each other"),  # as in a sweep
        (["hours=1", "finetune=somewhere"], "finetune= and hours= exclude each other"),
        (["hours=1", "resume=somewhere"], "resume= and hours= exclude each other"),
        (["hours=-1", "data=sample"], "hours=-1.0 is not a number of hours above 0"),
        (["hours=inf", "data=sample"], "hours=inf is not a number of hours above 0"),
        (["hours=two", "data=sample"], "hours"),
    ],
)
def test_hours_that_cannot_be_are_one_sentence(words: list[str], expected: str, tmp_path: Path) -> None:
    refused = command(*words, f"run_dir={tmp_path / 'run'}")
    assert refused.returncode == 2
    assert expected in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
