"""A disk that becomes full in the middle of the work, a device that is full, and two runs that write one file."""

from pathlib import Path

from seq2seq.files import sealed, write_json
from tests.devices import device, needs_devices
from tests.faults.programs import Program, n_kept
from tests.faults.signals_in_pairs import Pairs
from tests.processes import until


def test_a_full_disk_is_one_sentence_and_the_same_command_goes_on(pairs: Pairs, tmp_path: Path) -> None:
    """No file may grow beyond some kilobytes: what the parts are joined to does."""
    target = tmp_path / "out"
    command = (*pairs.options, "--output", target)
    with Program(*command, limits={"RLIMIT_FSIZE": 3000}) as program:
        assert program.end() == (2, "")
    assert program.told.count("error: ") == 1 and "Traceback" not in program.told
    assert f"error: cannot write {target}: File too large\n" in program.told
    assert n_kept(target) == pairs.whole.count(b"\n")
    assert f"finished blocks are kept in {target}.parts; the same command goes on\n" in program.told
    with Program(*command) as program:
        assert program.end() == (0, ""), program.told
    assert "translated 0 lines in" in program.told
    assert target.read_bytes() == pairs.whole
    assert list(tmp_path.iterdir()) == [target]


@needs_devices
def test_a_full_device_as_stdout_is_one_sentence(pairs: Pairs, tmp_path: Path) -> None:
    with device(tmp_path, "full").open("wb", buffering=0) as full, Program(*pairs.options, stdout=full) as program:
        assert program.status() == 2
    assert program.told.endswith("error: cannot write stdout: No space left on device\n")
    assert program.told.count("error") == 1 and "Traceback" not in program.told


def test_two_equal_commands_at_once_make_one_output(pairs: Pairs, tmp_path: Path) -> None:
    """The second has the whole text, and makes what the first one leaves, which waits for the rest of it."""
    folder, command = tmp_path / "out.parts", (*pairs.options[:-2], "--output", tmp_path / "out")
    folder.mkdir()
    write_json(folder / "settings.json", sealed({"settings": {}}))  # of another translation, which did nothing
    with Program(*command) as first:
        first.give(pairs.half)
        until(lambda: n_kept(tmp_path / "out"))
        with Program(*command) as second:
            second.give(pairs.text)
            second.stdin.close()
            until(lambda: n_kept(tmp_path / "out") > 0.8 * pairs.text.count(b"\n"))
            assert first.end(pairs.text.removeprefix(pairs.half)) == (0, ""), first.told
            assert second.status() == 0, second.told
    told = f"{tmp_path}/out was joined by another process that made the same translation\n"
    assert sorted([first.told.endswith(told), second.told.endswith(told)]) == [False, True]  # whoever waits says so
    assert (tmp_path / "out").read_bytes() == pairs.whole
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
