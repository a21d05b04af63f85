"""Tasks of a job array: each makes a share, and a command joins them to what one process writes, or to nothing."""

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.cli import main
from seq2seq.corpus.reader import read_lines
from seq2seq.translation.blocks import Placed, placed
from seq2seq.translation.finished import read_record
from seq2seq.translation.output import locked
from seq2seq.translation.sharing.join import _commands
from seq2seq.translation.sharing.plan import Folder, Plan
from seq2seq.translation.sharing.share import Share
from tests.translating import Cli
from tests.translation.sharing.shared_text import SOURCES as MANY_SOURCES
from tests.translation.sharing.shared_text import by_one
from tests.translation.sharing.shared_text import write as write_text

SMALL_BLOCKS = ("--max-batch-tokens", 1)  # of a line or two
SOURCES = MANY_SOURCES[:8]
# What may end a line, and what may not; blank lines; lines of several sentences.
TEXT = "\n".join([*SOURCES[:3], "", *SOURCES[3:6], " ", "", "Ba be\u2028fo.\r", *SOURCES[6:], "Ba. Fo fu."]) + "\n"


def write(path: Path, text: str = TEXT) -> Path:
    return write_text(path, text)


@pytest.fixture(scope="module")
def cli(trained_run: Path) -> Cli:
    return Cli(trained_run)


def shard(cli: Cli, which: str, *options: object) -> str:
    """Make a share; what it says."""
    status, out, err = cli(*options, "--shard", which)
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
        (TEXT, "in", 3, ("--json", "--alignment", "--typography", "fr")),
        (TEXT.removesuffix("\n"), "in.gz", 2, ("--n-best", 2)),
        (TEXT.replace("\n", "\r\n"), "in", 2, ("--document",)),
        ("Ba.\n\n", "in", 3, ()),  # fewer lines than shards
        ("", "in", 2, ()),
        ("\ufeff" + TEXT, "in", 2, ("--sample", "--seed", 3)),
    ],
)
def test_the_shares_are_joined_to_what_one_process_writes(
    cli: Cli, tmp_path: Path, text: str, name: str, n_shards: int, options: tuple[object, ...]
) -> None:
    given = ("--input", write(tmp_path / name, text), *SMALL_BLOCKS, *options)
    expected = by_one(cli, *given, output=tmp_path / "one")
    for number in range(n_shards, 0, -1):
        shard(cli, f"{number}/{n_shards}", *given, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    status, err = joined(tmp_path / "out")
    assert status == 0, err
    assert (tmp_path / "out").read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "one", "out"])
    assert read_record(tmp_path / "out") == read_record(tmp_path / "one")
    assert "nothing to resume" in cli(*given, "--output", tmp_path / "out", "--resume")[2]


@pytest.mark.parametrize("option", ["--score", "--prefix"])
def test_a_file_that_goes_with_the_input_is_shared_with_it(cli: Cli, tmp_path: Path, option: str) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    beside = write(tmp_path / "beside", "".join(f"{line[:4]}\n" for line in SOURCES))
    given = ("--input", write(tmp_path / "in", text), option, beside, *SMALL_BLOCKS)
    expected = by_one(cli, *given, output=tmp_path / "one")
    for which in ("1/2", "2/2"):
        shard(cli, which, *given, "--output", tmp_path / "out")
    assert joined(tmp_path / "out")[0] == 0
    assert (tmp_path / "out").read_bytes() == expected
    assert read_record(tmp_path / "out") == read_record(tmp_path / "one")


def test_a_compressed_output_holds_the_same_text(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS)
    by_one(cli, *given, output=tmp_path / "one")
    for which in ("1/2", "2/2"):
        shard(cli, which, *given, "--output", tmp_path / "out.xz")
    assert joined(tmp_path / "out.xz")[0] == 0
    assert list(read_lines(tmp_path / "out.xz")) == list(read_lines(tmp_path / "one"))


@settings(max_examples=3)
@given(lines=st.lists(st.text("bafo .\u2028\r", max_size=12), max_size=12), ends=st.booleans(), n=st.integers(1, 3))
def test_any_lines_come_once_and_in_order(
    cli: Cli, tmp_path_factory: pytest.TempPathFactory, lines: list[str], ends: bool, n: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    given = ("--input", write(folder / "in", "\n".join(lines) + "\n" * ends), "--beam-size", 1, "--max-batch-tokens", 1)
    expected = by_one(cli, *given, output=folder / "one")
    for number in range(1, n + 1):
        shard(cli, f"{number}/{n}", *given, "--output", folder / "out")
    assert joined(folder / "out")[0] == 0
    assert (folder / "out").read_bytes() == expected


# --- what is not joined ---


@pytest.fixture
def two_thirds(cli: Cli, tmp_path: Path) -> tuple[Path, tuple[object, ...]]:
    """An output of which the second of three shares is missing, and the options of all."""
    given = ("--input", write(tmp_path / "in"), *SMALL_BLOCKS, "--output", tmp_path / "out")
    for which in ("1/3", "3/3"):
        shard(cli, which, *given)
    return tmp_path / "out", given


def test_nothing_is_joined_while_a_part_is_missing_and_its_command_is_shown(
    cli: Cli, two_thirds: tuple[Path, tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    output, given = two_thirds
    status, err = joined(output)
    assert status == 2 and not output.exists()
    assert f"{output}.parts/00002 is missing" in err and "00001" not in err
    content = json.loads((output.parent / "out.parts" / "plan.json").read_text())
    assert content["n_shards"] == 3 and len(content["parts"]) > 3
    said = shard(cli, "2/3", *given)
    assert "shard 2 of 3 is done, all parts are there; join them with: python -m seq2seq join" in said
    assert joined(output) == (0, f"joined {len(content['parts'])} parts, {TEXT.count(chr(10))} lines: {output}\n")


def test_the_commands_that_are_shown_make_the_shards_that_are_missing(two_thirds: tuple[Path, object]) -> None:
    output, _ = two_thirds
    plan = Folder(output).read_plan()
    assert plan is not None
    object.__setattr__(plan, "command", "python translate.py --model m --shard 3/3 --json")
    assert _commands(plan, [1, 4, 0]) == [
        "python translate.py --model m --shard 1/3 --json",
        "python translate.py --model m --shard 2/3 --json",
    ]
    object.__setattr__(plan, "n_shards", 0)
    assert _commands(plan, [1]) == [plan.command]


def test_a_part_that_is_damaged_or_foreign_is_named_and_made_again(
    cli: Cli, two_thirds: tuple[Path, tuple[object, ...]]
) -> None:
    output, given = two_thirds
    shard(cli, "2/3", *given)
    part = output.parent / "out.parts" / "00004"
    record, other_record = part.with_name("00004.json"), part.with_name("00003.json")
    damages: list[tuple[Callable[[], object], str]] = [
        (lambda: part.write_bytes(part.read_bytes()[:-2] + b"!\n"), "was changed after it was translated; remove"),
        (lambda: record.write_text("[]"), "has no record of how it was made"),
        (lambda: record.write_bytes(other_record.read_bytes()), "is the translation of other text"),
        (
            lambda: record.write_text(record.read_text().replace('"beam_size": 3', '"beam_size": 4')),
            "was made with other settings",
        ),
    ]
    for damage, message in damages:
        damage()
        status, err = joined(output)
        assert status == 2 and f"{part} {message}" in err and not output.exists()
        if "remove" in err:
            part.unlink()
        shard(cli, "1/3", *given)
    assert joined(output)[0] == 0
    assert output.read_bytes() == by_one(cli, *given[:-2], output=output.parent / "one")


def test_another_input_is_refused_and_so_are_other_settings(
    cli: Cli, two_thirds: tuple[Path, tuple[object, ...]]
) -> None:
    output, given = two_thirds
    for other, difference in (("--beam-size", "beam_size was 3 and is now 2"), ("--max-batch-tokens", "max_batch_tok")):
        err = cli.refusal(*given, other, 2, "--shard", "2/3")
        assert f"out.parts was begun with other settings: {difference}" in err
    whole = (output.parent / "in").read_text()
    plan = Folder(output).read_plan()
    assert plan is not None
    lines = whole.split("\n")
    lines[plan.parts[0].n_units] += " Be."  # in the share itself
    (output.parent / "in").write_text("\n".join(lines))
    begin, end = plan.parts[0].n_units + 1, plan.parts[0].n_units + plan.parts[1].n_units
    assert f"(between lines {begin} and {end})" in cli.refusal(*given, "--shard", "2/3")
    assert not Folder(output).part(1).exists()
    for changed in (whole.replace("Ba be", "Ba bo"), whole + "Ba.\n", whole[: len(whole) // 2]):
        (output.parent / "in").write_text(changed)
        err = cli.refusal(*given, "--shard", "2/3")
        assert re.search(r"the input has changed since it was shared out \(between lines \d+ and \d+\)", err)
        assert "what is translated is kept in" in err
    (output.parent / "in").write_text(whole)
    shard(cli, "2/3", *given)


def test_what_is_damaged_or_not_there_cannot_be_joined(tmp_path: Path) -> None:
    assert joined(tmp_path / "out") == (2, f"error: {tmp_path}/out: no parts of it in {tmp_path}/out.parts\n")
    (tmp_path / "out").write_text("done")
    assert "it is there, so there is nothing to join" in joined(tmp_path / "out")[1]
    (tmp_path / "out.parts").mkdir()
    for content in ("{}", "[]", '{"format": 1'):
        (tmp_path / "out.parts" / "plan.json").write_text(content)
        assert f"plan.json is damaged; remove {tmp_path}/out.parts to start anew" in joined(tmp_path / "out")[1]
    assert joined(tmp_path / "out", "--reference", tmp_path / "no")[1] == (
        f"error: --reference {tmp_path}/no: no such file\n"
    )


def test_a_joined_text_can_be_scored(cli: Cli, tmp_path: Path) -> None:
    given = ("--input", write(tmp_path / "in"), "--typography", "fr", "--json")
    shard(cli, "1/1", *given, "--output", tmp_path / "out")
    status, _, expected = cli(*given, "--output", tmp_path / "one", "--reference", tmp_path / "in")
    assert status == 0
    status, err = joined(tmp_path / "out", "--reference", tmp_path / "in")
    assert status == 0
    assert err.splitlines()[1:] == expected.splitlines()[-3:] and "BLEU" in err.upper()


# --- a share, line by line ---


@pytest.fixture
def folder(two_thirds: tuple[Path, object]) -> Folder:
    return Folder(two_thirds[0])


def all_of(folder: Folder) -> tuple[Share, Iterator[Placed[str]]]:
    """A process that makes all that is left, and the lines of it."""
    plan = folder.read_plan()
    assert plan is not None
    lines = placed(TEXT.split("\n")[:-1], plan.block_size, lambda line: len(line) + 1, lambda line: 1)
    stripped = (replace(each, unit=each.unit.removesuffix("\r")) for each in lines)
    share = Share(folder, plan, lambda index: True, waits=True)
    return share, share.skip_done(stripped, lambda each: each.unit)


def test_a_part_is_confirmed_at_the_end_of_a_block(folder: Folder) -> None:
    share, lines = all_of(folder)
    with suppress(KeyboardInterrupt), share:
        for each in lines:
            if each.ends_block:
                raise KeyboardInterrupt  # with all of the block written, but its last line
            share.write(each.unit, b"x\n")
            share.checkpoint()
    assert share.n_written > 1
    assert not [path for path in folder.path.iterdir() if "partial" in path.name]


def test_a_part_that_was_made_meanwhile_is_not_made_again(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def fault_at_first_sight(self: Folder, plan: Plan, index: int) -> str:
        looked.append(index)
        return "is missing" if looked.count(index) == 1 else ""

    monkeypatch.setattr(Folder, "fault", fault_at_first_sight)
    share, lines = all_of(folder)
    with share:
        assert list(lines) == []
    assert share.n_taken == 0 and not [*folder.path.glob("*.lock")]


def test_a_part_that_another_process_makes_is_passed_over_or_refused(
    cli: Cli, two_thirds: tuple[Path, tuple[object, ...]], folder: Folder
) -> None:
    with locked(folder.part(1)):
        share, lines = all_of(folder)
        with share:
            assert next(lines).block > 1
        err = cli.refusal(*two_thirds[1], "--shard", "2/3")
        assert f"{folder.part(1)} is being written by another process" in err


# --- what is refused ---


def test_what_cannot_be_shared_is_refused_by_name(cli: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in")
    out = ("--output", tmp_path / "out")
    assert "--input from stdin: --shard cannot share a stream" in cli.refusal(*out, "--shard", "1/2")
    assert "--prefix /dev/stdin" in cli.refusal("--input", source, "--prefix", "-", *out, "--shard", "1/2")
    assert "--shard needs --output" in cli.refusal("--input", source, "--shard", "1/2")
    assert "--shard need --output FILE" in cli.refusal("--input", source, "--output", "-", "--shard", "1/2")
    err = cli.refusal("--input", source, *out, "--reference", source, "--shard", "1/2")
    assert f"score what is joined with python -m seq2seq join {tmp_path}/out --reference FILE" in err
    for wrong in ("0/2", "3/2", "1", "a/b"):
        assert "invalid share (I/N as 3/8, I from 1 to N) value" in cli(*out, "--shard", wrong)[2]


def test_one_process_and_several_do_not_take_each_others_work(
    cli: Cli, tmp_path: Path, two_thirds: tuple[Path, tuple[object, ...]]
) -> None:
    output, given = two_thirds
    err = cli.refusal(*given)
    assert "out.parts has parts of this translation by several processes: complete them with --shard 1/1" in err
    shard(cli, "1/1", *given)
    assert joined(output)[0] == 0
    Path(f"{output}.partial").touch()
    err = cli.refusal(*given, "--shard", "1/2")
    assert "out.partial is of one process: let one process continue it with --resume, or remove it" in err
