"""The scripts of the exercises run, on a tiny model. `make learn` runs them on the demo's."""

import runpy
import shutil
import sys
from pathlib import Path

import pytest

from seq2seq.model import attention
from tests.learn.course import LEARN
from tests.translating import sentences

EXERCISES = LEARN / "exercises"


@pytest.fixture
def demo(trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with what the scripts look for, in which they run."""
    shutil.copytree(trained_run, tmp_path / "runs/demo")
    (tmp_path / "data/sample").mkdir(parents=True)
    for language, lines in zip(("fr", "en"), zip(*sentences(8), strict=True), strict=True):
        (tmp_path / f"data/sample/test.{language}").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXERCISES)
    monkeypatch.delitem(sys.modules, "demo", raising=False)
    monkeypatch.setattr(attention, "scaled_dot_product_attention", attention.scaled_dot_product_attention)


def printed(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXERCISES / name))
    return capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("demo")
def test_bleu_is_high_at_the_temperature_of_training_and_low_without_any_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = printed("other_temperatures.py", capsys)[1:]
    scores = {row[:13].strip(): float(row[13:]) for row in rows}
    assert scores["beta x 1"] > 0.8 * max(scores.values()) and scores["beta x 1"] > 2 * scores["beta x 0"]


@pytest.mark.usefixtures("demo")
def test_each_head_is_left_out_and_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    first, _, *layers = printed("without_one_head.py", capsys)
    assert first.startswith("all heads: BLEU ") and layers
    runpy.run_path(str(EXERCISES / "without_one_head.py"))
    assert capsys.readouterr().out.splitlines()[2:] == layers


@pytest.mark.usefixtures("demo")
def test_positions_are_taken_from_one_side_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(EXERCISES / "without_positions.py"))
    whole, source, target = (float(row.split()[-1]) for row in capsys.readouterr().out.splitlines())
    assert whole > source and whole > target
    assert names["model"].encode == names["encode"] and names["model"].step != names["step"]


@pytest.mark.usefixtures("demo")
def test_beams_are_scored_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    _, *rows = printed("beam_sizes.py", capsys)
    assert [int(row.split()[0]) for row in rows] == [1, 2, 5, 10]
    assert all(float(row.split()[2]) >= 0 for row in rows)


@pytest.mark.slow
def test_the_weights_of_a_layer_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    _, *rows = printed("cost.py", capsys)
    tokens, weights = zip(*((int(row.split()[0]), int(row.split()[1].replace(",", ""))) for row in rows), strict=True)
    assert [n * n for n in tokens] == [n // 4 for n in weights]
    assert all(float(ms) >= 0 for row in rows for ms in row.split()[3:])


@pytest.mark.slow
def test_attention_and_an_lstm_remember_the_first_word_over_a_short_distance(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = (EXERCISES / "far_apart.py").read_text(encoding="utf-8")
    assert code.count("(10, 40, LONGEST)") == 1
    exec(compile(code.replace("(10, 40, LONGEST)", "(10,)"), "far_apart.py", "exec"), {"__name__": "far_apart"})
    _, row = capsys.readouterr().out.splitlines()
    assert min(int(each[:-1]) for each in row.split()[1:]) > 90


@pytest.mark.nightly
def test_attention_remembers_the_first_word_over_a_distance_where_an_lstm_does_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, *rows = printed("far_apart.py", capsys)
    by_lstm, by_attention = zip(*((int(each[:-1]) for each in row.split()[1:]) for row in rows), strict=True)
    assert min(by_attention) > 90 and by_lstm[0] > 90 and max(by_lstm[1:]) < 50
