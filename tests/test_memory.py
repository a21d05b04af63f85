"""How much memory there is, and how its end is told."""

import os
import sys
from pathlib import Path

import pytest
import torch

from seq2seq.errors import ConfigError, TranslationError
from seq2seq.memory import available_memory, is_out_of_memory, limited_memory, no_room_on, telling_out_of_memory

MEMINFO = "MemTotal:       24684000 kB\nMemFree:  1000000 kB\nMemAvailable:    2000000 kB\nSwapFree: 7 kB\n"
GB = 10**9


def files(root: Path, contents: dict[str, str | int]) -> Path:
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{content}\n")
    return root


def group(folder: str, limit: str | int, used: int, droppable: int) -> dict[str, str | int]:
    """A group of cgroups, version 2."""
    stat = f"anon 5\ninactive_file {droppable}\nactive_file 9"
    return {f"{folder}/memory.max": limit, f"{folder}/memory.current": used, f"{folder}/memory.stat": stat}


def test_memory_is_what_the_kernel_can_give_out(tmp_path: Path) -> None:
    assert available_memory(tmp_path) is None
    assert available_memory(files(tmp_path, {"proc/meminfo": MEMINFO})) == 2_000_000 * 1024


@pytest.mark.parametrize(
    ("path", "contents", "expected"),
    [
        ("/", group("sys/fs/cgroup", 3 * GB, 2 * GB, GB // 2), GB * 3 // 2),
        ("/", group("sys/fs/cgroup", "max", 2 * GB, 0), 2_048_000_000),
        ("/", group("sys/fs/cgroup", 9 * GB, 2 * GB, 0), 2_048_000_000),  # the machine has less than the group may use
        ("/", group("sys/fs/cgroup", GB, 2 * GB, 0), 0),
        (
            "/user/job",
            group("sys/fs/cgroup/user", 2 * GB, GB, 5) | group("sys/fs/cgroup/user/job", "max", GB, 0),
            GB + 5,
        ),
        (
            "/user/job",
            group("sys/fs/cgroup/user", 2 * GB, GB, 0) | group("sys/fs/cgroup/user/job", GB, GB, 7),
            7,
        ),
        ("/docker/0123", group("sys/fs/cgroup", 2 * GB, GB, 3), GB + 3),  # as seen inside a container
        ("/", {"sys/fs/cgroup/memory.max": 4 * GB}, 2_048_000_000),  # half of what is needed
    ],
)
def test_memory_is_limited_by_each_group_around_the_process(
    tmp_path: Path, path: str, contents: dict[str, str | int], expected: int
) -> None:
    files(tmp_path, {"proc/meminfo": MEMINFO, "proc/self/cgroup": f"0::{path}", **contents})
    assert available_memory(tmp_path) == expected


def test_memory_is_limited_by_groups_of_version_1_too(tmp_path: Path) -> None:
    top = "sys/fs/cgroup/memory"
    contents: dict[str, str | int] = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "9:name=systemd:/\n4:memory:/job\n3:cpuset,cpu:/job\n0::/",
        f"{top}/memory.limit_in_bytes": 9223372036854771712,  # how version 1 says "no limit"
        f"{top}/memory.usage_in_bytes": 5 * GB,
        f"{top}/memory.stat": "cache 1\ntotal_inactive_file 2",
        f"{top}/job/memory.limit_in_bytes": 2 * GB,
        f"{top}/job/memory.usage_in_bytes": GB,
        f"{top}/job/memory.stat": "inactive_file 1\ntotal_inactive_file 4",
    }
    assert available_memory(files(tmp_path, contents)) == GB + 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
def test_this_machine_says_how_much_memory_it_has() -> None:
    found = available_memory()
    assert found is not None
    assert 10**7 < found <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("could not create a memory object"),  # oneDNN
        RuntimeError("std::bad_alloc"),  # CTranslate2
        RuntimeError("CUDA failed with error out of memory"),
    ],
    ids=str,
)
def test_all_libraries_words_for_a_lack_of_memory_are_known(error: Exception) -> None:
    assert is_out_of_memory(error)


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert not is_out_of_memory(OSError("out of memory"))
    assert not is_out_of_memory(TranslationError("out of memory"))
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_a_device_that_others_have_filled_is_told() -> None:
    with (
        pytest.raises(ConfigError, match="cuda:0 has too little free memory for the model;"),
        telling_out_of_memory(no_room_on("cuda:0")),
    ):
        raise RuntimeError("CUDA error: out of memory")
    with pytest.raises(RuntimeError, match="another"), telling_out_of_memory(no_room_on("cuda:0")):
        raise RuntimeError("another")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_beyond_the_limit_memory_is_refused_and_after_the_block_it_is_there_again() -> None:
    with limited_memory(1 << 30):
        assert len(torch.empty(1 << 28, dtype=torch.uint8)) == 1 << 28
        with pytest.raises(RuntimeError) as caught:
            torch.empty(1 << 31, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)
    with limited_memory(None):
        assert len(torch.empty(1 << 31, dtype=torch.uint8)) == 1 << 31
