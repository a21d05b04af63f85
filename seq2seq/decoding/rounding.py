"""Batch sizes of few significant bits: oneDNN compiles its kernels for each size, so there should be few sizes."""


def round_up(n: int) -> int:
    """The smallest of 1 to 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, ... (three significant bits) that is not below n."""
    step = 1 << max(0, n.bit_length() - 3)
    return -(-n // step) * step


def round_down(n: int) -> int:
    """The largest of these numbers that is not above n."""
    step = 1 << max(0, n.bit_length() - 3)
    return n // step * step
