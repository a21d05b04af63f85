"""What --output may name, and what it may not: streams, devices, links, mounts, files of a model."""

import gzip
import os
import shutil
import socket
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from seq2seq.cli import front_door
from seq2seq.errors import TranslationError
from seq2seq.translation.destination import check_destination
from tests.commands.learned_text import GREEDY, LEARNED, REFERENCES, SOURCES, read, write
from tests.devices import mount, needs_devices
from tests.processes import CAN_FORK, Warm
from tests.translating import TEXT, Cli, run_cli

# --- streams ---


# As the shell closes it, so that the next file that the process opens would be its stderr.
WITHOUT_STDERR = """
import os, sys
os.close(2)
sys.stderr = None
from seq2seq.cli import front_door
front_door("translate")
"""


@pytest.mark.skipif(not CAN_FORK, reason="needs the fork server")
def test_stdout_by_name_adds_to_a_log_even_if_stderr_is_closed(trained: Cli, tmp_path: Path) -> None:
    log, script = write(tmp_path / "log", ["kept"]), tmp_path / "without_stderr.py"
    script.write_text(WITHOUT_STDERR)
    reference = write(tmp_path / "r", REFERENCES)
    words = [script, *trained.defaults, "--output", "/dev/stdout", "--reference", reference]
    with write(tmp_path / "in", SOURCES).open("rb") as stdin, log.open("ab") as stdout:
        process = Warm([str(word) for word in words], env=os.environ, stdin=stdin, stdout=stdout)
        assert process.wait(120) == 0
    assert read(log) == ["kept", *trained.lines(LEARNED)]


def test_a_hyphen_is_stdin_and_stdout(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    oui = cli.lines("Oui !\n", *GREEDY)
    for name in ("-", "/dev/stdout", "/proc/self/fd/1", "/dev/../dev/stdout"):
        assert cli.lines("Oui !\n", *GREEDY, "--input", "-", "--output", name) == oui
    assert cli.lines("Oui !\n", *GREEDY, "--input", "/dev/stdin") == oui
    assert not list(tmp_path.iterdir())
    assert cli("--output", "./-", *GREEDY, stdin="Oui !\n")[0] == 0  # a file of that name
    assert read(tmp_path / "-") == oui


def test_one_file_may_be_stdin(trained: Cli, tmp_path: Path) -> None:
    source, prefixes = write(tmp_path / "in", SOURCES), [line.split()[0] for line in REFERENCES]
    given = write(tmp_path / "given", prefixes)
    text = given.read_bytes()
    assert trained.lines(text, "--input", source, "--prefix", "-") == trained.lines(LEARNED, "--prefix", given)
    assert trained.lines(text, "--input", source, "--score", "-") == trained.lines(LEARNED, "--score", given)
    for option in ("--prefix", "--score", "--terms"):
        message = trained.refusal(option, "-", stdin=LEARNED)
        assert message == f"error: --input and {option} are all stdin, which has one reader; give a file for one\n"


def test_an_open_descriptor_is_written_from_where_it_stands(trained: Cli, tmp_path: Path) -> None:
    log = write(tmp_path / "log", ["kept"])
    with log.open("ab") as file:
        name = f"/dev/fd/{file.fileno()}"
        link = tmp_path / "link"
        link.symlink_to(name)
        reference = write(tmp_path / "ref", REFERENCES)
        status, out, err = trained("--output", link, "--reference", reference, stdin=LEARNED)
        assert (status, out) == (0, ""), err
        assert "\nbleu  " in err  # of these lines, without the one that was there
        assert f"{name} is the file of --input, so they would overwrite it" in trained.refusal(
            "--output", name, "--input", log
        )
    assert read(log) == ["kept", *trained.lines(LEARNED)]
    assert f"--output {name} is closed; open it or" in trained.refusal("--output", name)


def test_stdout_may_not_grow_what_is_read(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path / "in", ["Oui !"])
    with source.open("a") as file:
        monkeypatch.setattr(sys, "stdout", file)
        with pytest.raises(SystemExit, match="2"):
            front_door("translate", [*map(str, cli.defaults), "--input", str(source)])
    assert read(source) == ["Oui !"]


def test_compressed_text_is_known_by_its_first_bytes(cli: Cli, tmp_path: Path) -> None:
    data = gzip.compress(TEXT.encode())
    expected = cli.lines(TEXT, *GREEDY)
    assert cli.lines(data, *GREEDY) == expected
    (tmp_path / "in.txt").write_bytes(data)
    assert cli.lines("", *GREEDY, "--input", tmp_path / "in.txt") == expected
    assert "stdin: damaged or cut off after line" in cli(*GREEDY, stdin=data[:-6])[2]
    assert "stdin: is a ZIP archive, as .docx, .xlsx and .odt are" in cli.refusal(stdin=b"PK\x03\x04\x14\0\xff\n")


# --- names that are refused ---


def refusal(output: Path, *options: object) -> str:
    status, out, err = run_cli("--model", "no model", "--output", output, *options)
    assert (status, out) == (2, "")
    assert err.startswith("error: --output ") and err.count("\n") == 1
    return err


def test_links_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    loop, far, new = tmp_path / "loop", tmp_path / "far", tmp_path / "new"
    loop.symlink_to(loop)
    far.symlink_to(tmp_path / "missing" / "file")
    new.symlink_to(tmp_path / "file")
    assert run_cli("--model", "no model", "--output", loop)[2].startswith("error: Too many levels of symbolic links: ")
    assert f"no directory {tmp_path}/missing (it leads to {tmp_path}/missing/file); create it first" in refusal(far)
    status, _, err = run_cli("--model", "no model", "--output", new)  # may be written
    assert (status, "--output" in err) == (2, False)
    assert f"no directory {tmp_path}/in.fr; create" in refusal(write(tmp_path / "in.fr", []) / "out.en")


def test_sockets_disks_and_what_is_the_system_s_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert "is a directory, a disk or a socket; name a file" in refusal(Path("socket"))
    if Path("/proc/sys/kernel/hostname").exists():
        assert "no file can be made in /proc/sys/kernel" in refusal(Path("/proc/sys/kernel/hostname"))


@needs_devices
def test_a_disk_is_not_overwritten(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "disk", 0o600 | stat.S_IFBLK, os.makedev(7, 250))  # a loop device that is not in use
    except OSError:
        pytest.skip("no device can be made here")
    assert "is a directory, a disk or a socket; name a file" in refusal(tmp_path / "disk")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("checkpoints/model.ckpt", ""),
        ("checkpoints/new.txt", ""),
        ("hypotheses/test.en", ""),
        ("checkpoints/model.ckpt", "checkpoints/model.ckpt"),
        ("config.yaml", "checkpoints/model.ckpt"),
    ],
)
def test_files_of_a_run_are_never_overwritten(trained_run: Path, tmp_path: Path, name: str, given: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained_run, run)
    for folder in ("hypotheses", "checkpoints"):
        (run / folder).mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(run / name)
    before = (run / "checkpoints" / "model.ckpt").read_bytes()
    for output in (run / name, tmp_path / "link"):
        message = Cli(run / given).refusal("--output", output, stdin=LEARNED)
        would = f"--output {output} would overwrite --model; choose another name"
        is_a_file_of = f"--output {output}: is a file of the model in {run}; choose another name"
        assert message == f"error: {would if name == given else is_a_file_of}\n"
        assert Cli(Path("no model")).refusal("--output", output)[:20] == message[:20]
    assert (run / "checkpoints" / "model.ckpt").read_bytes() == before
    assert not [path for path in run.rglob("*") if ".parts" in path.name or path.suffix == ".txt"]


@pytest.mark.parametrize("name", ["config.json", "tokenizer.model", "model.safetensors", "ctranslate2/model.bin"])
def test_files_of_a_model_directory_are_never_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / "model" / "ctranslate2").mkdir(parents=True)
    (tmp_path / "model" / "config.json").write_text('{"format": "seq2seq model directory"}')
    assert f"is a file of the model in {tmp_path}/model; choose another name" in refusal(tmp_path / "model" / name)
    # Others may be beside them.
    assert "--output" not in run_cli("--model", "no model", "--output", tmp_path / "model" / "test.out")[2]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_file_of_another_user_in_a_folder_for_all_is_refused_at_the_start() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)  # as /tmp
        target = Path(folder) / "out.en"
        target.touch()
        target.chmod(0o666)
        check_destination(target, [])
        os.seteuid(65534)
        try:
            check_destination(Path(folder) / "new.en", [])
            with pytest.raises(TranslationError, match="belongs to another user, and only that one may replace it"):
                check_destination(target, [])
        finally:
            os.seteuid(0)
        assert [path.name for path in Path(folder).iterdir()] == ["out.en"]


# --- mounts ---


def test_a_file_that_is_mounted_by_itself_is_refused_at_the_start(small_disk: Path, tmp_path: Path) -> None:
    inside, outside = write(small_disk / r"in \side", ["old"]), write(tmp_path / "outside", ["older"])
    mount("--bind", outside, inside)
    assert "is mounted by itself (as by docker -v FILE:FILE), so no other file can take its place" in refusal(inside)
    same, twin = write(small_disk / "same", ["old"]), write(small_disk / "twin", ["old"])
    mount("--bind", twin, same)  # of one file system
    assert f"or write to stdout: --output - > {same}\n" in refusal(same)
    assert read(outside) == ["older"] and read(twin) == ["old"]


def test_an_input_is_not_overwritten_under_another_name(small_disk: Path) -> None:
    for name in ("one", "two"):
        (small_disk / name).mkdir()
    mount("--bind", small_disk / "one", small_disk / "two")
    source, twice = write(small_disk / "one/in.fr", ["Oui."]), small_disk / "two/in.fr"
    assert "would overwrite --input; choose another name" in refusal(twice, "--input", source)
    (small_disk / "one/copy.fr").hardlink_to(source)
    check_destination(small_disk / "one/copy.fr", [("--input", source)])  # replacing it leaves the text to the input


def test_a_folder_that_takes_no_file_is_refused_at_the_start(small_disk: Path) -> None:
    target = write(small_disk / "out.en", ["old"])
    mount("-o", "remount,ro", small_disk)
    assert f"no file can be made in {small_disk} (Read-only file system), and the result is written" in refusal(target)
