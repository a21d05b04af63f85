"""How commands end, and what they say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seq2seq.cli import main
from seq2seq.errors import UserError
from seq2seq.exit_status import exit_status, note, tell_at_end
from tests.places import ROOT


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("wrong"), 2, "error: wrong\nkept\n"),
        (OSError(28, "No space left on device", "file"), 2, "error: No space left on device: file\nkept\n"),
        (KeyboardInterrupt(), 130, "kept\ninterrupted\n"),
        (BrokenPipeError(), 141, "kept\n"),
        (SystemExit(143), None, "kept\n"),
        (ValueError("a defect"), None, "kept\n"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_message_comes_with_its_error(
    error: BaseException, status: int | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the error is not a status, but is raised."""

    def work() -> None:
        tell_at_end(error, "kept")
        raise error

    if status is None:
        with pytest.raises(type(error)):
            exit_status(work)
    else:
        assert exit_status(work) == status
    assert capsys.readouterr().err == said


CODE = """
import sys
from pathlib import Path
from seq2seq.exit_status import exit_status, note

def work():
    file = open(sys.argv[1], "w")  # would be file descriptor 2
    note("a message")
    import os
    os.write(2, b"from a library")
    file.write("content")
    file.close()
    note("a message")

sys.exit(exit_status(work))
"""


@pytest.mark.parametrize("redirection", ["2>&-", "2>&- <&-", "2>&- >&-"])
def test_a_closed_stderr_stops_no_work_and_no_file_takes_its_place(tmp_path: Path, redirection: str) -> None:
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", CODE, str(tmp_path / "file")]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"")
    assert (tmp_path / "file").read_text() == "content"


@pytest.mark.parametrize("how", ["full", "closed", "unread"])
def test_a_message_that_nobody_can_read_stops_no_work(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if how == "full" and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    if how == "full":
        stream = Path("/dev/full").open("w")  # noqa: SIM115
    else:
        reader, writer = os.pipe()
        os.close(reader)
        stream = os.fdopen(writer, "w")
        if how == "closed":
            stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    note("a message")
    monkeypatch.undo()
    if how != "closed":
        with pytest.raises(OSError, match=r"No space left|Broken pipe"):
            stream.close()


@pytest.mark.parametrize(
    ("how", "status", "said"), [("full", 2, "error: No space left on device\n"), ("unread", 141, "")]
)
def test_output_that_is_lost_at_the_end_is_told(
    how: str, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if how == "full" and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("w") if how == "full" else os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert exit_status(lambda: print("in a buffer until the end")) == status
    assert capfd.readouterr().err == said


@pytest.mark.parametrize(
    ("words", "stream"),
    [
        ("score - --reference TEXT", "stdin"),
        ("corpus augment - --as upper", "stdin"),
        ("corpus augment TEXT --as upper", "stdout"),
        ("encode --model TEXT --input TEXT", "stdout"),
    ],
)
def test_a_closed_stream_is_told(
    words: str, stream: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("a\n")
    monkeypatch.setattr(sys, stream, None)  # as Python has it after `<&-` or `>&-`
    with pytest.raises(SystemExit, match=r"^2$"):
        main(words.replace("TEXT", str(tmp_path / "text")).split())
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"error: {stream} is closed; open it or give ")
