from hypothesis import given
from hypothesis import strategies as st

from seq2seq.decoding.rounding import round_down, round_up


def test_rounded_sizes_by_hand() -> None:
    sizes = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40]
    assert sorted({round_up(n) for n in range(1, 41)}) == sizes
    assert sorted({round_down(n) for n in range(1, 41)}) == sizes
    assert (round_up(17), round_down(19), round_up(129), round_down(159)) == (20, 16, 160, 128)


@given(n=st.integers(1, 10**6))
def test_rounding_keeps_three_bits_and_is_never_far_off(n: int) -> None:
    for rounded in (round_up(n), round_down(n)):
        assert len(f"{rounded:b}".rstrip("0")) <= 3
        assert round_up(rounded) == round_down(rounded) == rounded
    assert round_down(n) <= n <= round_up(n) <= 1.25 * n
    assert round_down(n) > 0.8 * n
    assert round_up(n) <= round_up(n + 1) and round_down(n) <= round_down(n + 1)
