import pytest

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.prepare import prepare
from tests.training.tiny_runs import checkpoint, tiny_config, train_in_parts


@pytest.mark.parametrize("accumulate", [1, 3])
def test_an_epoch_has_the_target_tokens_of_its_text_also_in_two_parts(accumulate, corpus, tmp_path):
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 1, "batch.accumulate": accumulate})
    train_in_parts(config, 3)
    train = prepare(config).train
    n_tokens = int(train.tgt_lengths.sum()) + len(train)  # and an eos each
    logged = [
        metric.value for metric in RunDirectory(tmp_path / "run").metrics() if metric.name == "progress/tgt_tokens"
    ]
    assert logged[-1] == checkpoint(tmp_path / "run")["callbacks"]["Counters"]["tgt_tokens"] == n_tokens


def test_hours_are_those_of_training_in_all_parts(corpus, tmp_path):
    config = tiny_config(corpus, tmp_path / "run", {"trainer.max_epochs": 1})
    train_in_parts(config, 5)
    rows = [metric for metric in RunDirectory(tmp_path / "run").metrics() if metric.name == "progress/hours"]
    clock = float(rows[-1].unix_time) - float(rows[0].unix_time)  # with the start of the second part
    assert 0 < 3600 * rows[-1].value < clock + 3600 * rows[0].value
    state = checkpoint(tmp_path / "run")["callbacks"]["Counters"]
    assert sum(state["spent"].values()) < state["seconds"]
    assert min(state["spent"].values()) > 0
