"""Tasks of a job array: each makes a share, and a command joins them to what one process writes, or to nothing."""

import contextlib
import io
from pathlib import Path

import pytest

from seq2seq.cli import main
from tests.translating import Cli
from tests.translation.shared_text import SOURCES as MANY_SOURCES
from tests.translation.shared_text import by_one
from tests.translation.shared_text import write as write_text

SMALL_BLOCKS = ("--max-batch-tokens", 1)  # of a line or two
SOURCES = MANY_SOURCES[:8]
# What may end a line, and what may not; blank lines; lines of several sentences.
TEXT = "\n".join([*SOURCES[:3], "", *SOURCES[3:6], " ", "", "Ba be\u2028fo.\r", *SOURCES[6:], "Ba. Fo fu."]) + "\n"


def write(path: Path, text: str = TEXT) -> Path:
    return write_text(path, text)


def shard(trained: Cli, which: str, *options: object) -> str:
    """Make a share; what it says."""
    status, out, err = trained(*options, "--shard", which)
    assert (status, out) == (0, ""), err
    return err


def joined(output: Path, *options: object) -> tuple[int, str]:
    """Exit status and stderr of the command that joins."""
    err = io.StringIO()
    status: object = 0
    with contextlib.redirect_stderr(err):
        try:
            main(["join", str(output), *map(str, options)])
        except SystemExit as stop:
            status = stop.code
    return int(str(status)), err.getvalue()


@pytest.mark.parametrize(
    ("text", "name", "n_shards", "options"),
    [
        (TEXT.removesuffix("\n"), "in.gz", 2, ("--sample", "--seed", 3, "--json")),
        (TEXT.replace("\n", "\r\n"), "in", 2, ("--document",)),
        ("Ba.\n\n", "in", 3, ()),  # fewer lines than shards
    ],
)
def test_the_shares_are_joined_to_what_one_process_writes(
    trained: Cli, tmp_path: Path, text: str, name: str, n_shards: int, options: tuple[object, ...]
) -> None:
    given = ("--input", write(tmp_path / name, text), *SMALL_BLOCKS, *options)
    expected = by_one(trained, *given, output=tmp_path / "one")
    for number in range(n_shards, 0, -1):
        shard(trained, f"{number}/{n_shards}", *given, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    status, err = joined(tmp_path / "out")
    assert status == 0, err
    assert (tmp_path / "out").read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "one", "out"])
    assert "is this translation already" in trained(*given, "--output", tmp_path / "out")[2]


@pytest.mark.parametrize("option", ["--score", "--prefix"])
def test_a_file_that_goes_with_the_input_is_shared_with_it(trained: Cli, tmp_path: Path, option: str) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    beside = write(tmp_path / "beside", "".join(f"{line[:4]}\n" for line in SOURCES))
    given = ("--input", write(tmp_path / "in", text), option, beside, *SMALL_BLOCKS)
    expected = by_one(trained, *given, output=tmp_path / "one")
    for which in ("1/2", "2/2"):
        shard(trained, which, *given, "--output", tmp_path / "out")
    assert joined(tmp_path / "out")[0] == 0
    assert (tmp_path / "out").read_bytes() == expected


# --- what is not joined ---


def test_nothing_is_joined_while_a_part_is_missing(trained: Cli, tmp_path: Path) -> None:
    output = tmp_path / "out"
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--output", output)
    shard(trained, "1/3", *given)
    said = shard(trained, "3/3", *given)
    assert "parts of others are not there yet; join all with: python -m seq2seq join" in said
    status, err = joined(output)
    assert status == 2 and not output.exists()
    assert "parts are missing; give the commands of all shards again, which make them, or the command without" in err
    status, _, err = trained(*given)  # which makes what is missing
    assert status == 0 and "more by other processes or an earlier run" in err
    assert output.read_bytes() == by_one(trained, *given[:-2], output=tmp_path / "one")


def test_what_is_not_there_cannot_be_joined(tmp_path: Path) -> None:
    assert joined(tmp_path / "out") == (2, f"error: {tmp_path}/out: no shard is done in {tmp_path}/out.parts\n")
    (tmp_path / "out").write_text("done")
    assert "it is there, so there is nothing to join" in joined(tmp_path / "out")[1]
    assert joined(tmp_path / "out", "--reference", tmp_path / "no")[1] == (
        f"error: --reference {tmp_path}/no: no such file\n"
    )


def test_a_reference_of_another_length_is_told_with_what_scores_then(trained: Cli, tmp_path: Path) -> None:
    shard(trained, "1/1", "--input", write(tmp_path / "in"), "--output", tmp_path / "out")
    status, err = joined(tmp_path / "out", "--reference", write(tmp_path / "known", "Un.\n"))
    assert status == 2 and (tmp_path / "out").exists()
    assert "has 1 lines, not " in err, err
    assert f"correct it, then: python -m seq2seq score {tmp_path}/out" in err


@pytest.mark.parametrize("reference", [TEXT, "医生看见米饭。\n" * TEXT.count("\n")], ids=["French", "Chinese"])
def test_a_joined_text_is_scored_as_by_translate(trained: Cli, tmp_path: Path, reference: str) -> None:
    """With the language of the model, whatever script the reference has."""
    given, known = ("--input", write(tmp_path / "in"), "--typography", "fr", "--json"), tmp_path / "known"
    write(known, reference)
    shard(trained, "1/1", *given, "--output", tmp_path / "out")
    status, _, expected = trained(*given, "--output", tmp_path / "one", "--reference", known)
    assert status == 0
    (tmp_path / "latin").write_bytes("été\n".encode("latin-1"))
    assert "latin:1" in joined(tmp_path / "out", "--reference", tmp_path / "latin")[1]
    assert not (tmp_path / "out").exists()
    status, err = joined(tmp_path / "out", "--reference", known)
    assert status == 0
    assert err.splitlines()[1:] == expected.splitlines()[-2:] and "tok:13a" in err


@pytest.mark.parametrize(
    ("options", "what"), [(["--score", "TEXT"], "scores"), (["--form", "document"], "a text of the form document")]
)
def test_what_is_no_translation_is_not_scored(trained: Cli, tmp_path: Path, options: list[str], what: str) -> None:
    source = write(tmp_path / "in")
    words = [source if word == "TEXT" else word for word in options]
    shard(trained, "1/1", "--input", source, *words, "--output", tmp_path / "out")
    status, err = joined(tmp_path / "out", "--reference", source)
    assert status == 2 and f"{tmp_path}/out is {what}, and --reference scores lines" in err
    assert joined(tmp_path / "out")[0] == 0


# --- what is refused ---


def test_what_cannot_be_shared_is_refused_by_name(trained: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in")
    out = ("--output", tmp_path / "out")
    assert "--input /dev/stdin: --shard cannot share a stream" in trained.refusal(*out, "--shard", "1/2")
    assert "--prefix /dev/stdin" in trained.refusal("--input", source, "--prefix", "-", *out, "--shard", "1/2")
    assert "--shard needs --output" in trained.refusal("--input", source, "--shard", "1/2")
    assert "--shard need --output FILE" in trained.refusal("--input", source, "--output", "-", "--shard", "1/2")
    err = trained.refusal("--input", source, *out, "--reference", source, "--shard", "1/2")
    assert f"score what is joined with python -m seq2seq join {tmp_path}/out --reference FILE" in err
    for wrong in ("0/2", "3/2", "1", "a/b"):
        assert "invalid share (I/N as 3/8, I from 1 to N) value" in trained(*out, "--shard", wrong)[2]
