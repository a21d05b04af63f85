"""What charts of a run need: the same story in metrics.csv, in W&B's file and in TensorBoard's, over any x-axis."""

import itertools
import math

import pytest
import sacrebleu

from seq2seq.artifacts.run_directory import RunDirectory
from tests.places import made_once
from tests.training.tiny_runs import reversed_pairs, tiny_config, train_with, write_corpus, write_split
from tests.training.wandb_file import read_parts, read_run, rows_of

TAGGED = {
    "data.train": [{"source": "train", "tag": "short"}, {"source": "more", "tag": "long"}],
    "data.valid": [{"source": "valid", "tag": "short"}, {"source": "hard", "tag": "long"}],
    "logger.wandb": True,
    "logger.tensorboard": True,
    "logger.n_samples": 6,
    "trainer.val_every_n_steps": 10,
    "decoding.beam_size": 1,
    "decoding.max_length_b": 4,
    "trainer.max_epochs": 0,
}


@pytest.fixture(scope="session")
def tagged_corpus(tmp_path_factory):
    def write(folder):
        write_corpus(folder, n_train=200, n_test=70)
        write_split(folder, "more", reversed_pairs(200, 5, longest=12))
        write_split(folder, "hard", [("ba $x^{$ be <b>", "be $x^{$ | ba"), *reversed_pairs(3, 6)])

    return made_once(tmp_path_factory, "tagged_corpus", write)


@pytest.fixture(scope="session")
def run(tagged_corpus, tmp_path_factory):
    """A run of 20 steps in two parts, with its charts over target tokens."""

    def train(folder):
        import wandb

        with pytest.MonkeyPatch.context() as patch:
            for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_BASE_URL", "NETRC"):
                patch.delenv(name, raising=False)
            patch.setenv("HOME", str(folder.parent))
            changes = TAGGED | {"logger.x_axis": "tokens", "logger.text": True}
            train_with(tiny_config(tagged_corpus, folder, changes | {"trainer.max_steps": 10}))
            train_with(tiny_config(tagged_corpus, folder, changes | {"trainer.max_steps": 20}), resume=True)
            wandb.teardown()  # as at the end of a process: `finish` returns before the last rows are on disk

    return RunDirectory(made_once(tmp_path_factory, "tracked_run", train))


def series(run, name):
    return [(each.step, each.value) for each in run.metrics() if each.name == name]


@pytest.fixture(scope="module")
def tracked(run):
    return read_run(run.path)


def tables(run, name):
    """The tables of W&B, oldest first."""
    files = run.path.glob(f"wandb/offline-run-*/files/media/html/{name}_*.html")
    return [rows_of(file) for file in sorted(files, key=lambda file: file.stat().st_mtime)]


def test_each_row_has_its_place_on_every_axis_and_a_resumed_run_counts_on(run, tracked):
    for name in ("progress/tgt_tokens", "progress/hours"):
        steps, values = zip(*series(run, name), strict=True)
        assert steps == tuple(range(1, 21))  # one row each
        assert all(a <= b for a, b in itertools.pairwise(values)) and values[0] > 0
        rows = [row for row in tracked["history"] if row.keys() & {"train/loss", "valid/loss"}]
        assert all(a[name] <= b[name] for a, b in itertools.pairwise(rows))
        first_of_step = {row["trainer/global_step"]: row[name] for row in reversed(rows)}
        assert [first_of_step[step] for step in steps] == pytest.approx(values, rel=1e-6)


def test_the_x_axis_of_wandb_is_the_chosen_one(tracked):
    assert tracked["x_axes"]["*"] == "progress/tgt_tokens"
    with_tables = [row for row in tracked["history"] if any(name.startswith("valid/samples") for name in row)]
    assert len(with_tables) == 2 and all("progress/tgt_tokens" in row for row in with_tables)


def test_loss_perplexity_and_accuracy_of_train_and_valid_are_logged(run):
    for split in ("train", "valid"):
        loss, perplexity = dict(series(run, f"{split}/loss")), dict(series(run, f"{split}/perplexity"))
        assert {step: math.exp(value) for step, value in loss.items()} == pytest.approx(perplexity, rel=1e-4)
        accuracy = [value for _, value in series(run, f"{split}/accuracy")]
        assert all(0 <= value <= 1 for value in accuracy) and accuracy[-1] > accuracy[0]


def test_each_domain_of_valid_has_its_metrics(run, tracked):
    row = next(row for row in reversed(tracked["history"]) if "valid/bleu" in row)
    for metric in ("loss", "perplexity", "accuracy", "bleu", "chrf"):
        both = sorted([row[f"valid/short/{metric}"], row[f"valid/long/{metric}"]])
        assert both[0] < row[f"valid/{metric}"] < both[1] or both[0] == row[f"valid/{metric}"] == both[1]
    assert dict(series(run, "valid/long/loss"))[20] == pytest.approx(row["valid/long/loss"], rel=1e-5)
    assert tracked["config"]["valid_signatures"]["chrf"].startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")
    assert tracked["config"]["valid_signatures"]["bleu"].startswith("nrefs:1|case:mixed|eff:no|tok:13a")


def test_time_and_memory_are_logged(run):
    for what in ("loading", "validation", "saving", "tracking"):
        values = [value for _, value in series(run, f"time/{what}_s")]
        assert len(values) == 2 and values[0] > 0 and all(a < b for a, b in itertools.pairwise(values))
    assert 0.05 < dict(series(run, "train/process_memory_gb"))[19] < 20


def test_samples_are_the_same_sentences_of_all_domains(run):
    (columns, *first), *others = tables(run, "valid/samples")
    found = [first, *(rows for _, *rows in others)]
    assert [rows[0][0] for rows in found] == ["10", "20"]
    assert columns == ["step", "line", "domain", "source", "reference", "translation", "chrF"]
    assert [row[1:3] for row in first] == [
        ["1", "short"], ["4", "short"], ["7", "short"], ["10", "long"], ["11", "long"], ["12", "long"],
    ]  # fmt: skip
    (page, *_) = run.path.glob("wandb/offline-run-*/files/media/html/valid/samples_*.html")
    assert "<td>ba $x^{$ be &lt;b&gt;<td>" in page.read_text()
    for before, after in itertools.pairwise(found):  # also from one part of the run to the next
        assert [row[1:5] for row in before] == [row[1:5] for row in after]
    for row in found[-1]:
        assert float(row[6]) == pytest.approx(sacrebleu.CHRF().sentence_score(row[5], [row[4]]).score, abs=0.006)


def test_attention_of_three_fixed_sentences_is_drawn_at_each_validation(run, tracked):
    images = [row for row in tracked["history"] if any(name.startswith("attention/") for name in row)]
    assert len(images) == 2
    for row in images:
        paths = {name.removesuffix("/path"): path for name, path in row.items() if name.endswith("/path")}
        pictures = {name: path for name, path in paths.items() if name.startswith("attention/")}
        lines = [f"attention/line_{line}" for line in (1, 10, 5)]
        assert sorted(pictures) == sorted([*lines, *(f"{line}_heads" for line in lines)])
        for path in pictures.values():
            (file,) = run.path.glob(f"wandb/offline-run-*/files/{path}")
            assert file.read_bytes().startswith(b"\x89PNG")


def test_tensorboard_has_the_same(run):
    event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    events = event_accumulator.EventAccumulator(
        str(run.path / "tensorboard"), {"tensors": 0, "images": 0, "scalars": 0}
    )
    events.Reload()
    for name in {each.name for each in run.metrics() if not each.name.startswith(("test/", "progress/"))}:
        found = {each.step: each.value for each in events.Scalars(name)}
        assert found == pytest.approx(dict(series(run, name)), rel=1e-4), name
    images = sorted(f"attention/line_{line}{what}" for line in (1, 10, 5) for what in ("", "_heads"))
    assert sorted(events.Tags()["images"]) == images
    assert all(len(events.Images(name)) == 2 for name in images)
    assert events.Images(images[0])[0].encoded_image_string.startswith(b"\x89PNG")
    samples = [each.tensor_proto.string_val[0].decode() for each in events.Tensors("valid/samples/text_summary")]
    assert len(samples) == 2
    assert samples[-1].startswith("<table><tr><td>step<td>line<td>domain<td>source<td>")
    hparams = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2")
    content = events.summary_metadata["_hparams_/experiment"].plugin_data.content
    experiment = hparams.HParamsPluginData.FromString(content).experiment
    assert {"model/d_model", "optim/lr"} <= {info.name for info in experiment.hparam_infos}
    assert not any("data_report" in info.name for info in experiment.hparam_infos)
    assert {info.name.tag for info in experiment.metric_infos} == {
        f"test/test/{metric}" for metric in ("bleu", "chrf", "bleu_legacy_tok")
    }


def has_text(folder, corpus):
    """Whether the files of a tracker have lines of a corpus."""
    content = b"\0".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert b"valid/long/chrf" in content
    lines = [line for file in corpus.glob("*.[fe][rn]") for line in file.read_bytes().splitlines()]
    return any(line in content for line in lines)


def test_wandb_gets_text_of_the_corpus_only_if_it_is_asked_to(run, tagged_corpus, tmp_path, monkeypatch):
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    changes = TAGGED | {"trainer.max_steps": 2, "trainer.val_every_n_steps": 2}
    train_with(tiny_config(tagged_corpus, tmp_path / "run", changes))
    wandb.teardown()
    assert not has_text(tmp_path / "run/wandb", tagged_corpus)
    assert not [*(tmp_path / "run/wandb").rglob("*.png")]
    assert has_text(tmp_path / "run/tensorboard", tagged_corpus) and has_text(run.path / "wandb", tagged_corpus)
    (part,) = read_parts(tmp_path / "run")
    assert part["artifacts"] == []  # nobody asked to upload a model
    assert not (tmp_path / "run/export").exists()
