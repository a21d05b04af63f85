"""A table of likely pieces: what stands in it, and that a translation has nothing else."""

from collections import Counter
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DecodingConfig
from seq2seq.errors import ConfigError
from seq2seq.export.shortlist import N_COMMON, N_TARGETS, likely_targets, write_shortlist
from seq2seq.translation.engines import Needs, Sentence
from seq2seq.translation.engines.ctranslate2 import load
from seq2seq.translation.options import EngineOptions
from tests.export.exporting import main, needs_ctranslate2, refused
from tests.translating import LEXICON, sentences, trained_content, write_run

N_IDS = 9
IDS = st.sets(st.integers(0, N_IDS - 1), min_size=1)


@given(st.lists(st.tuples(IDS, IDS), max_size=12), st.integers(1, 5), st.integers(0, 3))
def test_the_best_are_those_that_wrote_most(pairs: list[tuple[set[int], set[int]]], n: int, n_common: int) -> None:
    arrays = [(np.array(sorted(src)), np.array(sorted(tgt))) for src, tgt in pairs]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seq2seq.export.shortlist.N_COMMON", n_common)
        common, rows = likely_targets([arrays[i : i + n] for i in range(0, len(arrays) + n, n)], N_IDS)
    n_src, n_tgt = Counter(a for src, _ in pairs for a in src), Counter(b for _, tgt in pairs for b in tgt)
    together = Counter((a, b) for src, tgt in pairs for a in src for b in tgt)
    assert common == sorted(n_tgt, key=lambda b: (-n_tgt[b], b))[:n_common]
    likely = {(a, b): Fraction(n_pairs, n_src[a]) for (a, b), n_pairs in together.items()}
    written: Counter[tuple[int, int]] = Counter()
    for src, tgt in pairs:
        for b in tgt:
            written.update({(a, b): likely[a, b] / sum(likely[other, b] for other in src) for a in src})
    found = dict(rows)
    assert {a: set(targets) for a, targets in found.items()} == {
        a: {b for b in n_tgt if together[a, b]} - {*common} for a in n_src
    }
    for a, targets in found.items():  # equal ones in any order, since sums are rounded
        assert [float(written[a, b]) for b in targets] == pytest.approx(
            sorted((float(written[a, b]) for b in targets), reverse=True)
        )


def test_a_source_has_a_few_targets_even_of_many() -> None:
    pairs = [(np.array([0]), np.array([1 + i])) for i in range(3 * N_TARGETS + N_COMMON)]
    _, rows = likely_targets([pairs], len(pairs) + 1)
    assert [len(targets) for _, targets in rows] == [N_TARGETS]


@pytest.mark.parametrize("n_common", [0, 200])
def test_the_table_knows_words_copies_bytes_and_what_is_common(
    trained_run: Path, tmp_path: Path, n_common: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seq2seq.export.shortlist.N_COMMON", n_common)
    tokenizer = TrainedModel.read(trained_run).tokenizer
    pairs = [("ba", "Bas"), ("", "Dos"), ("ba\tfo", "Bas Fos"), ("ba", "Bas Gis")]
    assert write_shortlist(tmp_path / "list", tokenizer, pairs) == 3  # one has an empty side
    lines = (tmp_path / "list").read_text(encoding="utf-8").splitlines()
    table = {piece: targets.split(" ") for piece, _, targets in (line.partition("\t") for line in lines)}
    pieces = tokenizer.pieces(tokenizer.encode(["ba"])[0])
    bas, gis, dos = (tokenizer.pieces(ids) for ids in tokenizer.encode(["Bas", "Gis", "Dos"]))
    assert len(table) == len(lines)
    assert table[pieces[-1]][0] == pieces[-1]
    assert (set(bas) <= set(table[pieces[-1]])) == (not n_common)
    assert {"<0x00>", "<0xFF>"} <= set(table[""])
    assert ({*bas, *gis} <= set(table[""])) == bool(n_common)
    unseen = {*dos} - {*bas, *gis}
    assert unseen and not any({*unseen, *tokenizer.pieces(range(4))} & {*targets} for targets in table.values())


def run_with_text(folder: Path, pairs: list[tuple[str, str]]) -> Path:
    """The trained model, whose training text is said to be this."""
    content = deepcopy(trained_content())
    data = content.config["data"]
    data["dir"] = str(folder)
    for side, language in enumerate(("fr", "en")):
        (folder / f"train.{language}").write_text("".join(f"{pair[side]}\n" for pair in pairs))
    (folder / "lines").write_text("".join(f"{src}\n" for src, _ in sentences(40, seed=2)))
    return write_run(folder / "run", content)


def test_an_engine_has_a_choice_among_its_pieces_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_ctranslate2()
    run, output = run_with_text(tmp_path, sentences(400)), tmp_path / "shipped"
    main([*f"{run} --format ctranslate2 --shortlist --parity-input {tmp_path}/lines --output {output}".split()])
    assert "the shortlist of 400 pairs: 40 of 40 translations stay as they were" in capsys.readouterr().out
    assert "ctranslate2/vmap.txt\n" in (output / "SHA256SUMS").read_text()
    assert "float32, with a shortlist" in (output / "README.md").read_text()

    model = TrainedModel.read(output)
    (output / "ctranslate2" / "vmap.txt").write_text("\t▁ s o .\n")  # nothing else is likely now
    engine = load(output, model.tokenizer, model.config.model.max_length, EngineOptions(device="cpu"))
    ids = [Sentence(source) for source in model.tokenizer.encode([f"{word}." for word in LEXICON])]
    found = engine.decode(ids, DecodingConfig(beam_size=2, max_length_b=3))
    assert set("".join(model.tokenizer.decode([best.tokens for best, *_ in found]))) <= set(" so.")
    with pytest.raises(ConfigError, match="beam_size=3 is too wide for 4 pieces"):
        engine.check(DecodingConfig(beam_size=3), Needs())
    assert TrainedModel.read(run).fingerprint != model.fingerprint


def test_what_is_read_of_a_long_text_is_from_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_ctranslate2()
    monkeypatch.setattr("seq2seq.export.export.N_PAIRS", 100)
    in_order = sorted(sentences(350), key=lambda pair: pair[1].startswith("Gis"))
    run = run_with_text(tmp_path, in_order)
    main([*f"{run} --format ctranslate2 --shortlist --parity-input {tmp_path}/lines".split()])
    assert "the shortlist of 88 pairs" in capsys.readouterr().out  # every fourth
    vmap = run / "export" / "ctranslate2-shortlist" / "ctranslate2" / "vmap.txt"
    assert "▁Gis" in vmap.read_text(encoding="utf-8").split()


def test_a_table_that_changes_translations_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_ctranslate2()
    run = run_with_text(tmp_path, [(src, "Bas.") for src, _ in sentences(400)])
    options = ["--format", "ctranslate2", "--shortlist", "--parity-input", tmp_path / "lines"]
    assert "export it without --shortlist" in refused(capsys, 1, run, *options)
    assert not list((run / "export").iterdir())


def test_the_training_text_must_be_there(trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_ctranslate2()
    (tmp_path / "lines").write_text("Ba be.\n")
    options = ["--format", "ctranslate2", "--shortlist", "--parity-input", tmp_path / "lines"]
    message = refused(capsys, 2, trained_run, *options)
    assert "--shortlist needs the text that the model was trained on: found no file train.fr" in message
    assert "add --format ctranslate2" in refused(capsys, 2, trained_run, "--format", "safetensors", "--shortlist")
