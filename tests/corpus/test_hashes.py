import hashlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.hashes import SeenHashes, contained, file_sha256, hash_lines, hash_pairs

small_hashes = st.lists(st.integers(0, 50)).map(lambda values: np.array(values, dtype=np.uint64))


def test_a_line_has_the_same_hash_everywhere():
    # BLAKE2b with 8 bytes, as `b2sum -l 64` prints it, read as a little-endian number
    assert hash_lines(["Ça va ?"])[0] == int.from_bytes(
        hashlib.blake2b("Ça va ?".encode(), digest_size=8).digest(), "little"
    )


def test_moving_a_word_across_the_border_of_a_pair_changes_its_hash():
    assert len(set(hash_pairs([("a b", "c"), ("a", "b c"), ("a b c", "")]).tolist())) == 3


@given(blocks=st.lists(small_hashes, max_size=12))
def test_seen_hashes_agree_with_a_python_set(blocks):
    seen, reference = SeenHashes(), set()
    for block in blocks:
        expected = []
        for value in block.tolist():
            expected.append(value not in reference)
            reference.add(value)
        assert seen.add(block).tolist() == expected
    assert len(seen) == len(reference)


@given(hashes=small_hashes, others=small_hashes)
def test_contained_agrees_with_python(hashes, others):
    assert contained(hashes, np.sort(others)).tolist() == [value in others.tolist() for value in hashes.tolist()]


def test_file_sha256_agrees_with_hashlib(tmp_path):
    data = bytes(range(256)) * 5000
    (tmp_path / "a").write_bytes(data)
    assert file_sha256(tmp_path / "a") == hashlib.sha256(data).hexdigest()
