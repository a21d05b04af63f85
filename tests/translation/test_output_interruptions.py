"""What interruptions leave of an output, and what can be continued."""

import io
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from seq2seq.translation.output import open_output
from seq2seq.translation.resumable import AlreadyTranslated, ResumableFile
from tests.places import ROOT
from tests.translation.eleven_lines import LINES, SETTINGS, SUFFIXES, WHOLE, interrupted, names, record, text, translate

# --- interruptions ---


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
def test_what_was_confirmed_stays_and_is_continued(tmp_path: Path, suffix: str, stop: type[BaseException]) -> None:
    def raises() -> None:
        raise stop

    path = tmp_path / f"out.en{suffix}"
    with pytest.raises(stop):
        translate(path, stop_after=8, stop=raises)
    assert names(tmp_path) == [f"{path.name}.partial", f"{path.name}.partial.json"]
    assert json.loads((tmp_path / f"{path.name}.partial.json").read_text())["n_lines"] == 6
    assert translate(path, resume=True) == 6
    assert names(tmp_path) == [path.name]
    translate(tmp_path / f"unbroken{suffix}")
    assert path.read_bytes() == (tmp_path / f"unbroken{suffix}").read_bytes()


def test_an_interruption_before_anything_is_confirmed_leaves_nothing(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 2)
    assert names(tmp_path) == []
    (tmp_path / "out.en").write_text("older")
    interrupted(tmp_path / "out.en", 0)
    assert (tmp_path / "out.en").read_text() == "older"
    assert names(tmp_path) == ["out.en"]


def test_who_interrupts_can_be_told_what_is_kept(tmp_path: Path) -> None:
    with suppress(KeyboardInterrupt), open_output(tmp_path / "out.en", SETTINGS) as output:
        assert output.kept == ""
        for line in output.skip_done(LINES[:2]):
            output.write(line, record(line))
        assert output.kept == ""
        output.checkpoint()
        raise KeyboardInterrupt
    assert output.kept == f"2 translated lines are kept in {tmp_path}/out.en.partial; continue with --resume"


def test_an_interruption_right_after_the_first_checkpoint_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_progress = ResumableFile._write_progress

    def written_and_interrupted(self: ResumableFile, progress: Any) -> None:
        write_progress(self, progress)
        if progress.n_lines:
            raise KeyboardInterrupt

    monkeypatch.setattr(ResumableFile, "_write_progress", written_and_interrupted)
    with suppress(KeyboardInterrupt), open_output(tmp_path / "out.en", SETTINGS) as output:
        output.write(LINES[0], record(LINES[0]))
        output.checkpoint()
    monkeypatch.undo()
    with open_output(tmp_path / "out.en", SETTINGS, resume=True) as output:
        assert output.n_lines_done == 1
        assert list(output.skip_done(LINES[:2])) == [LINES[1]]


def test_a_checkpoint_without_new_lines_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    with open_output(tmp_path / "out.en.gz", SETTINGS) as output:
        output.write("a", b"A\n")
        output.checkpoint()
        monkeypatch.setattr(os, "fsync", synced.append)
        output.checkpoint()
        assert not synced
        output.write("b", b"B\n")
        output.checkpoint()
        assert len(synced) == 3  # the translations, what is known about them, and the name of the latter


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize(("suffix", "kill_after"), [("", 1), (".gz", 8)])
def test_a_killed_process_is_continued_to_the_same_bytes(tmp_path: Path, suffix: str, kill_after: int) -> None:
    path = tmp_path / f"out.en{suffix}"
    code = f"""
import os, signal
from pathlib import Path
from tests.translation.eleven_lines import LINES, translate
lines = LINES + ["never translated"]
translate(Path({str(path)!r}), lines=lines, stop_after={kill_after}, stop=lambda: os.kill(os.getpid(), signal.SIGKILL))
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == -signal.SIGKILL
    assert translate(path, resume=True) == kill_after // 3 * 3
    translate(tmp_path / f"unbroken{suffix}")
    assert path.read_bytes() == (tmp_path / f"unbroken{suffix}").read_bytes()
    assert names(tmp_path) == [path.name, f"unbroken{suffix}"]


@settings(max_examples=20)
@given(
    suffix=st.sampled_from(SUFFIXES),
    runs=st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.integers(1, 5)), max_size=5),
)
@example(suffix=".gz", runs=[(7, 3), (7, 3), (6, 1)])
def test_any_interruptions_give_the_text_of_an_unbroken_run(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, runs: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("runs") / f"out.en{suffix}"
    n_done = 0
    for stop_after, every in runs:
        if stop_after < n_done:
            continue  # nothing would be left to interrupt at
        interrupted(path, stop_after, resume=True, every=every)
        n_done = max(n_done, stop_after // every * every)
    assert translate(path, resume=True) == n_done
    assert text(path) == WHOLE
    assert names(path.parent) == [path.name]


CALLS = [(os, "fsync"), (Path, "replace"), (Path, "unlink"), (Path, "touch"), (Path, "open")]


@contextmanager
def failing_at(n_th: int, *, afterwards: bool) -> Iterator[Callable[[], int]]:
    """Interrupt at the n-th change of the file system, before or after it; gives the number of changes so far."""
    counter = itertools.count()
    n_calls = 0

    def failing(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal n_calls
            n_calls = next(counter)
            if n_calls == n_th and not afterwards:
                raise KeyboardInterrupt
            result = function(*arguments, **options)
            if n_calls == n_th:
                if isinstance(result, io.IOBase):
                    result.close()
                raise KeyboardInterrupt
            return result

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)  # no machine fails here, and a disk takes its time
        for owner, name in CALLS:
            patch.setattr(owner, name, failing(getattr(owner, name)))
        yield lambda: n_calls


@pytest.mark.parametrize(
    ("suffix", "is_killed", "afterwards"),
    [("", False, False), (".gz", True, False), ("", True, True), (".gz", False, True)],
)
def test_no_moment_of_an_interruption_loses_or_doubles_a_line(
    tmp_path: Path, suffix: str, is_killed: bool, afterwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_killed:  # then nothing tidies up
        monkeypatch.setattr(ResumableFile, "abandon", lambda file: file._file.close())
    for n_th in itertools.count():
        path = tmp_path / str(n_th) / f"out.en{suffix}"
        path.parent.mkdir()
        with failing_at(n_th, afterwards=afterwards) as n_calls, suppress(KeyboardInterrupt):
            translate(path)
        if n_calls() < n_th:  # nothing was left to fail
            break
        if not is_killed and not path.exists():
            left = [name.removeprefix(path.name) for name in names(path.parent)]
            assert left in ([], [".partial", ".partial.json"])
        if path.exists():
            assert text(path) == WHOLE
            with suppress(AlreadyTranslated):
                translate(path, resume=True)
        else:
            translate(path, resume=True)
        assert text(path) == WHOLE
    assert n_th > 12


# --- what cannot be resumed ---


def test_a_partial_file_is_not_overwritten_by_a_forgotten_option(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    before = (tmp_path / "out.en.partial").read_bytes()
    message = (
        "out.en.partial holds 6 translated lines of an interrupted translation: continue it with --resume, or remove"
    )
    with pytest.raises(TranslationError, match=message):
        translate(tmp_path / "out.en")
    assert (tmp_path / "out.en.partial").read_bytes() == before
    (tmp_path / "out.en.partial").unlink()  # as the message says
    assert translate(tmp_path / "out.en") == 0
    assert names(tmp_path) == ["out.en"]


def test_other_settings_are_named_with_both_values(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    changed = {"model": "0123abc", "beam_size": 5, "lengths": [1, 2], "n_best": 2}
    with pytest.raises(TranslationError) as caught:
        translate(tmp_path / "out.en", resume=True, fingerprint=changed)
    partial = f"{tmp_path}/out.en.partial"
    assert str(caught.value) == (
        f"{partial} was begun with other settings: alpha was 0.6 and is now null; beam_size was 4 and is now 5; "
        f"n_best was null and is now 2. Continue it with the same, or remove {partial} to start anew"
    )
    assert translate(tmp_path / "out.en", resume=True) == 6


def test_a_file_is_not_continued_in_another_compression(tmp_path: Path) -> None:
    (tmp_path / "link.gz").symlink_to(tmp_path / "out.en")
    interrupted(tmp_path / "link.gz", 8)
    with pytest.raises(TranslationError, match=r'compression was ".gz" and is now ""'):
        translate(tmp_path / "out.en", resume=True)


@pytest.mark.parametrize("n_th", [0, 5])
def test_another_source_is_refused(tmp_path: Path, n_th: int) -> None:
    interrupted(tmp_path / "out.en", 8)
    changed = [*LINES[:n_th], "another", *LINES[n_th + 1 :]]
    with pytest.raises(TranslationError, match=r"lines 1 to 6 of the input are not those .*; give the same input, or"):
        translate(tmp_path / "out.en", resume=True, lines=changed)
    with pytest.raises(TranslationError, match=r"the input has 5 lines, and .* translations of 6; give the same"):
        translate(tmp_path / "out.en", resume=True, lines=LINES[:5])
    joined = ["".join(LINES[:2]), "", *LINES[2:]]  # the same text, cut elsewhere
    with pytest.raises(TranslationError, match="lines 1 to 6"):
        translate(tmp_path / "out.en", resume=True, lines=joined)
    assert translate(tmp_path / "out.en", resume=True) == 6


def test_lines_that_were_not_translated_yet_may_change(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    assert translate(tmp_path / "out.en", resume=True, lines=LINES[:6]) == 6
    assert (tmp_path / "out.en").read_bytes() == b"".join(map(record, LINES[:6]))


def test_a_shorter_partial_file_is_refused_and_a_longer_one_cut(tmp_path: Path) -> None:
    path, partial = tmp_path / "out.en", tmp_path / "out.en.partial"
    interrupted(path, 8)
    data = partial.read_bytes()
    sidecar = json.loads((tmp_path / "out.en.partial.json").read_text())
    partial.write_bytes(data[: sidecar["n_bytes"] - 1])
    with pytest.raises(
        TranslationError, match=rf"has {sidecar['n_bytes'] - 1} bytes, but {sidecar['n_bytes']} were wr"
    ):
        translate(path, resume=True)
    partial.write_bytes(data[: sidecar["n_bytes"]] + b"half a li")
    translate(path, resume=True)
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"format": 2, "fingerprint": {}}', b"\xff", b"{"])
def test_a_damaged_sidecar_is_refused(tmp_path: Path, content: bytes) -> None:
    interrupted(tmp_path / "out.en", 8)
    (tmp_path / "out.en.partial.json").write_bytes(content)
    for resume in (False, True):
        with pytest.raises(TranslationError, match=r"out.en.partial.json is damaged; remove .*out.en.partial to start"):
            translate(tmp_path / "out.en", resume=resume)
    (tmp_path / "out.en.partial").unlink()
    assert translate(tmp_path / "out.en", resume=True) == 0


def test_a_sidecar_of_another_version_is_refused(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    (tmp_path / "out.en.partial.json").write_text('{"format": 3, "unheard": "of"}')
    with pytest.raises(TranslationError, match="another version of this program; continue with that one, or remove"):
        translate(tmp_path / "out.en", resume=True)


def test_a_partial_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.en.partial").write_text("mine")
    for resume in (False, True):
        with pytest.raises(TranslationError, match=r"exists without out.en.partial.json, .*; move it away"):
            translate(tmp_path / "out.en", resume=resume)
    assert (tmp_path / "out.en.partial").read_text() == "mine"
    assert names(tmp_path) == ["out.en.partial"]


def test_writing_before_skipping_is_a_mistake_of_ours(tmp_path: Path) -> None:
    interrupted(tmp_path / "out.en", 8)
    with suppress(KeyboardInterrupt), open_output(tmp_path / "out.en", SETTINGS, resume=True) as output:
        for line in LINES:  # as many as there were before, and more
            with pytest.raises(AssertionError):
                output.write(line, record(line))
        raise KeyboardInterrupt
    with pytest.raises(AssertionError), open_output(tmp_path / "out.en", SETTINGS, resume=True):
        pass
    assert translate(tmp_path / "out.en", resume=True) == 6
