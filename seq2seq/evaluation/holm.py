"""Holm's correction: p-values of several comparisons, such that one false alarm among all of them stays rare."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order of `p_values`, which are those of one family of comparisons.

    Sorted so that p(1) <= ... <= p(m), the adjusted value of p(i) is the largest of min(1, (m - j + 1) p(j)) for j <= i
    (Holm 1979). If all that are below 0.05 are taken for differences, the probability that any one of them is none
    stays below 0.05, however the comparisons depend on each other.
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """The adjusted p-values of a family; None where scores are equal, which is a comparison all the same."""
    adjusted = holm([1.0 if p_value is None else p_value for p_value in p_values])
    return [None if p_value is None else value for p_value, value in zip(p_values, adjusted, strict=True)]
