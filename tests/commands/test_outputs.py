"""Files that commands write as a whole: what they may replace, found out before any work."""

import os
from pathlib import Path

import pytest

from seq2seq import cli

# The words before the name of the output.
COMMANDS = {
    "report": "report RUN --output",
    "report of two": "report RUN OTHER --output",
    "report as a curve": "report RUN --curve",
    "attention": "attention --model RUN --input TEXT --output",
    "heads": "heads --model RUN --src TEXT --tgt TEXT --output",
    "encode": "encode --model RUN --input TEXT --picture",
    "corpus augment": "corpus augment TEXT --as upper --output",
    "corpus clean": "corpus clean TEXT TEXT --languages fr en --output x --rejected",
    "corpus report": "corpus report TEXT TEXT --languages fr en --json",
    "corpus report as a page": "corpus report TEXT TEXT --languages fr en --html",
}


@pytest.mark.skipif(not Path("/proc/sys/kernel").exists(), reason="needs a folder that takes no file")
@pytest.mark.parametrize("command", ["clean", "split"])
def test_a_folder_that_takes_no_file_is_told_before_any_text_is_looked_for(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["corpus", command, "missing", "--languages", "fr", "en", "--output", "/proc/sys/kernel/new"])
    assert "no file can be made in /proc/sys/kernel" in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_is_needed_is_replaced(
    command: str, trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("Oui.\n")
    run, ending = Path("run"), ".html" if command == "attention" else ".png"
    (run / "checkpoints").mkdir(parents=True)
    (run / "checkpoints/model.ckpt").write_bytes((trained_run / "checkpoints/model.ckpt").read_bytes())
    (run / "config.yaml").write_text("data: {src_lang: fr, tgt_lang: en}\n")
    os.mkfifo(f"pipe{ending}")
    Path(f"link{ending}").symlink_to(run / "checkpoints/model.ckpt")
    Path(f"own{ending}").symlink_to("text")
    before = {path: path.lstat().st_mtime_ns for path in Path().rglob("*")}
    words = COMMANDS[command].replace("RUN", "run").replace("TEXT", "text").split()

    def refusal(name: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            cli.main([*words, name])
        assert stopped.value.code == 2
        message = capsys.readouterr().err
        assert message.startswith(f"error: {words[-1]} {name}") and message.count("\n") == 1, message
        return message

    assert "is no regular file, and would be replaced by one; name a file" in refusal(f"pipe{ending}")
    assert "is a file of the model in" in refusal(f"link{ending}")
    if "TEXT" in COMMANDS[command]:
        assert "would overwrite" in refusal(f"own{ending}")
    if command.startswith(("report", "corpus")):
        assert "would not be compressed; leave out .gz" in refusal("new.gz")
    assert {path: path.lstat().st_mtime_ns for path in Path().rglob("*")} == before
