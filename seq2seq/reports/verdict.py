"""What a paired test says."""

from seq2seq.evaluation.scores import N_SAMPLES

# The methods of paired tests, in words.
METHODS = {
    "bs": f"paired bootstrap (Koehn 2004), {N_SAMPLES['bs']:,} resamples",
    "ar": f"approximate randomisation (Riezler and Maxwell 2005), {N_SAMPLES['ar']:,} trials",
    "none": "not tested",
}
SIGNIFICANT = 0.05  # a p-value below it counts as more than chance


def verdict(metric: str, difference: float, p_value: float | None) -> str:
    """Whether one of two systems is better, by its difference from the other one.

    Args:
        p_value: corrected, if there are several comparisons; None for equal scores.
    """
    if p_value is None:
        return "equal"
    if p_value >= SIGNIFICANT:
        return "may be chance"
    is_higher_better = metric != "ter"
    return "better" if (difference > 0) == is_higher_better else "worse"
