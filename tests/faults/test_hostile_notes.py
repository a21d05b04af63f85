"""Text that is read back, with any content: what a run and a translation noted, what a model says of itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.artifacts.model_directory import SUMS, write_model_directory, write_safetensors
from seq2seq.artifacts.provenance import provenance, this_start
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.compare import compare
from seq2seq.reports.comparison_forms import as_form
from seq2seq.reports.run_page import run_page
from seq2seq.translation.parts import folder_of, join
from tests.faults.many import COSTLY_FAULTS, FAULTS
from tests.faults.sentences import may_refuse
from tests.faults.test_damaged_files import damages
from tests.faults.test_hostile_files import CONTENT, PLACES, VALUES, changed
from tests.reports.full_runs import ended_run
from tests.reports.reported import analysis, finished_run
from tests.reports.test_run_page import data_of
from tests.translation.test_parts import WHOLE, translate

# Values as Python's JSON writes them, with NaN, and half surrogate pairs as escapes.
_JSON = VALUES.map(json.dumps)
_NAMES = st.sampled_from(
    ["step,metric,value,unix_time\n", "1,valid/bleu,2.5,3.0\n", "-1,a,nan,\n", ",", '"', "\n", "\x00"]
)
_CSV = st.lists(_NAMES | st.text(max_size=4), max_size=8).map("".join)
TEXTS = (_JSON | _CSV | st.text(max_size=40)).map(lambda text: text.encode(errors="surrogatepass")) | st.binary(
    max_size=40
)


_JSON_NOTES = ["selection.json", "scores.json", "analysis/news.json", "provenance.json"]
_NOTES = [*_JSON_NOTES, "metrics.csv", "hypotheses/news.en"]


@COSTLY_FAULTS
@given(name=st.sampled_from(_NOTES), content=TEXTS, changes=st.none() | st.tuples(st.integers(0), VALUES))
@example(name="metrics.csv", content=b"step,metric,value,unix_time\n1,train/loss,nan,1e99\n", changes=None)
@example(name="metrics.csv", content=b"step,metric,value,unix_time\n" + b"9" * 5_000 + b",a,1,2\n", changes=None)
@example(name="scores.json", content=b"", changes=(2, float("nan")))
@example(
    name="scores.json",
    content=b'{"test": {"bleu": {"score": 1, "mean": 1, "half_width": 1, "signature": [1]}}}',
    changes=None,
)
@example(name="selection.json", content=b'{"selected": 1, "step": 1e400, "valid": {}}', changes=None)
@example(name="provenance.json", content=b'{"starts": [1], "data_report": [2]}', changes=None)
def test_the_page_of_a_run(tmp_path: Path, name: str, content: bytes, changes: tuple[int, Any] | None) -> None:
    """Of anything that a file can hold, there is a page or an error that helps.

    Args:
        changes: put a value in the place of one that is in the file, which has the right form otherwise.
    """
    run = RunDirectory(tmp_path / "run")
    if not run.path.exists():
        finished_run(run.path).write_analysis("news", analysis().as_json())
        report = {"tokenizer": {"vocab_size": 300, "fingerprint": "1f"}, "splits": {}}
        run.write_provenance(provenance({}, this_start(["train.py"], []), report))
    file, whole = run.path / name, (run.path / name).read_bytes()
    file.write_bytes(with_one_changed(whole, *changes) if changes and name in _JSON_NOTES else content)
    try:
        with may_refuse(file):
            data_of(run_page(AnalysedRun.read(run)))
    finally:
        file.write_bytes(whole)


def with_one_changed(content: bytes, which: int, value: Any) -> bytes:
    """JSON with another value in one place."""
    found = json.loads(content)
    places: list[tuple[Any, Any]] = []
    waiting = [found]
    for each in waiting:  # which grows meanwhile
        keys = each if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        places += [(each, key) for key in keys]
        waiting += [each[key] for key in keys]
    container, key = places[which % len(places)]
    container[key] = value
    return json.dumps(found).encode()


@FAULTS
@given(name=st.sampled_from(["config.yaml", "selection.json", "scores.json", "run.json", "metrics.csv"]), content=TEXTS)
@example(name="config.yaml", content=b"data: {src_lang: fr, tgt_lang: en, dir: {a: 1}}\nseed: {b: 2}\nlogger: 3")
@example(name="config.yaml", content=b"data: {src_lang: fr, tgt_lang: en}\n1: {2: [3]}\nmodel:")
@example(name="metrics.csv", content=b"step,metric,value,unix_time\n1,valid/bleu,2,x\n1,progress/hours,nan,\n")
@example(name="metrics.csv", content=b"step,metric,value,unix_time\n1,progress/tgt_tokens,inf,1e999\n")
@example(name="selection.json", content=b'{"selected": "a", "step": 1, "valid": {"a": {}}, "intervals": {"bleu": 1}}')
def test_a_comparison_with_a_run(tmp_path: Path, name: str, content: bytes) -> None:
    runs = [tmp_path / "good", tmp_path / "other"]
    if not runs[0].exists():
        for run in runs:
            ended_run(run, 20.0)
    before = (runs[1] / name).read_bytes() if (runs[1] / name).is_file() else None
    (runs[1] / name).write_bytes(content)
    try:
        with may_refuse(runs[1]):
            compared = compare([RunDirectory(run) for run in runs])
            for form in ("text", "markdown", "csv", "json"):
                assert as_form(compared, form, 80)
    finally:
        (runs[1] / name).unlink() if before is None else (runs[1] / name).write_bytes(before)


_DEEP = b'{"parts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@FAULTS
@given(
    name=st.sampled_from(["settings.json", "000001-*"]),
    damage=damages() | TEXTS.map(lambda content: lambda whole: content),
    changes=st.none() | st.tuples(st.integers(0), VALUES),
)
@example(name="settings.json", damage=lambda whole: _DEEP, changes=None)
@example(name="settings.json", damage=lambda whole: b"{}", changes=None)
@example(name="settings.json", damage=lambda whole: b'{"settings": {}, "parts": ["../\\u0000"]}', changes=None)
@example(name="000001-*", damage=lambda whole: _DEEP + b"\n", changes=None)
@example(name="000001-*", damage=lambda whole: whole[:-1], changes=None)
def test_the_parts_of_a_translation(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    damage: Callable[[bytes], bytes],
    changes: tuple[int, Any] | None,
) -> None:
    """Of damaged ones, nothing becomes a translation: the same command gives the whole one, or says what to do.

    Args:
        changes: put a value in the place of one in the JSON instead.
    """
    path = tmp_path_factory.mktemp("unfinished") / "out.en"
    translate(path, shard=(1, 1))
    (file,) = folder_of(path).glob(name)
    whole = file.read_bytes()
    note = whole if name == "settings.json" else whole.split(b"\n")[1]
    file.write_bytes(whole.replace(note, with_one_changed(note, *changes)) if changes else damage(whole))
    for attempt in (lambda: join(path), lambda: translate(path), lambda: translate(path)):
        with may_refuse(path):
            attempt()
        if path.exists():
            assert path.read_bytes() == WHOLE
            break
    else:
        assert name == "settings.json"  # whoever damages those decides what to do


@FAULTS
@given(place=st.sampled_from(PLACES), value=VALUES)
@example(place=("model", "d_model"), value=2**30)
@example(place=("data", "src_lang"), value="../../x")
@example(place=("plugins",), value=[[]])
def test_the_configuration_of_a_model_directory(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str, ...], value: Any
) -> None:
    """Without checksums, as in older versions; who writes the configuration can write them, too."""
    folder = tmp_path_factory.getbasetemp() / "hostile_model"
    if not folder.exists():
        write_model_directory(
            folder,
            CONTENT,
            "# A model",
            lambda made: write_safetensors(made, CONTENT.weights, CONTENT.tokenizer_sha256),
        )
        (folder / SUMS).unlink()
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | {"config": changed(place, value)}))
    with may_refuse(folder):
        TrainedModel.read(folder).build()
