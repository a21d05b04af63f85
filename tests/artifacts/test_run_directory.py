"""What a run left, read again."""

from pathlib import Path

import pytest

from seq2seq.artifacts.run_directory import RunDirectory


def test_the_run_of_a_checkpoint_is_found_from_its_folder_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert RunDirectory.of_checkpoint(Path("run/checkpoints/model.ckpt")).path == Path("run")
    monkeypatch.chdir("run/checkpoints")
    assert RunDirectory.of_checkpoint(Path("model.ckpt")).path == tmp_path / "run"


def test_what_may_have_no_end_is_not_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    (tmp_path / "config.yaml").write_text("data: {src_lang: fr, tgt_lang: en}\n", encoding="utf-8")
    for folder in ("hypotheses", "references"):
        (tmp_path / folder).mkdir()
    (tmp_path / "hypotheses/test.en").symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"is no regular file.*hypotheses/test.en"):
        run.hypotheses("test")
    (tmp_path / "references/test.en").write_text("a\n", encoding="utf-8")
    (tmp_path / "references/test.en.1").symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"is no regular file.*references/test.en.1"):
        run.references("test")
