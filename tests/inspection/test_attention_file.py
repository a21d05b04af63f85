"""The archive of attention: its names and shapes, and that it is whole or not there."""

from pathlib import Path

import numpy as np
import pytest

from seq2seq.inspection import attention_file
from seq2seq.inspection.attention_file import write_attention
from tests.inspection.pairs import pair

SIDES = ("source", "read", "written")


def test_each_sentence_has_its_arrays_under_its_number(tmp_path: Path) -> None:
    pairs = [pair(), pair("▁on e", "▁u ne ▁▁", seed=2)]
    write_attention(pairs, tmp_path / "weights.npz")
    with np.load(tmp_path / "weights.npz") as archive:  # which refuses pickles
        assert len(archive.files) == 2 * (2 + 3 + 3 * len(SIDES))
        for number, each in enumerate(pairs, start=1):
            assert str(archive[f"{number}/source"]) == each.src and str(archive[f"{number}/target"]) == each.tgt
            for kind, weights in each.weights._asdict().items():
                np.testing.assert_array_equal(archive[f"{number}/{kind}"], weights)
                assert archive[f"{number}/{kind}"].dtype == np.float32
            for side, tokens in zip(SIDES, (each.src_tokens, each.tgt_in, each.tgt_out), strict=True):
                for name, values in tokens._asdict().items():
                    assert archive[f"{number}/{side}_{name}"].tolist() == values


def test_the_module_names_every_array(tmp_path: Path) -> None:
    write_attention([pair()], tmp_path / "weights.npz")
    documented = attention_file.__doc__ or ""
    for name in np.load(tmp_path / "weights.npz").files:
        side, _, what = name.removeprefix("1/").partition("_")
        assert f"n/{side}" in documented and (not what or f"_{what}" in documented), name


def test_a_full_disk_leaves_nothing(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        write_attention([pair(heads=64, layers=(9, 9))], small_disk / "weights.npz")
    assert not list(small_disk.iterdir())
