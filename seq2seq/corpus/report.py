"""What a corpus looks like, as plain JSON types and as a short text.

A line repeats or overlaps another one if it is exactly the same. 64-bit hashes are compared.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.characters import composed
from seq2seq.corpus.hashes import Hashes, contained

_PERCENTILES = (50, 90, 99, 100)
_MOST_EXAMPLES = 4
_BLOCK = 1 << 20  # hashes to compare at a time, so that no memory-mapped array is in memory as a whole


def split_report(
    n_read: int,
    rejected: Mapping[str, int],
    sides: Mapping[str, NDArray[np.integer[Any]]],
    pair_hashes: Hashes,
) -> dict[str, Any]:
    """Figures of one split.

    Args:
        n_read: pairs before filtering.
        rejected: pairs left out, by reason.
        sides: tokens (without eos) of each kept sentence, by name of the side.
        pair_hashes: of the kept pairs, ascending.
    """
    n_kept = len(pair_hashes)
    return {
        "pairs_read": n_read,
        "pairs_kept": n_kept,
        "rejected": dict(rejected),
        "duplicate_pairs": n_kept - count_distinct(pair_hashes),
        "tokens": {side: int(lengths.sum(dtype=np.int64)) for side, lengths in sides.items()},
        "length_percentiles": {side: _percentiles(lengths) for side, lengths in sides.items()},
        "without_tokens": {side: int((lengths == 0).sum()) for side, lengths in sides.items()},
    }


def overlap_report(train: Mapping[str, Hashes], heldout: Mapping[str, Hashes]) -> dict[str, int]:
    """How many held-out pairs have their source, or both sides, in the training text too.

    Args:
        train, heldout: ascending hashes with repetitions: `src` of the sources, `pair` of the pairs.
    """
    return {
        "sources_in_train": int(contained(heldout["src"], train["src"]).sum()),
        "pairs_in_train": int(contained(heldout["pair"], train["pair"]).sum()),
    }


def count_distinct(ascending: Hashes) -> int:
    """Different values in an ascending array."""
    if not len(ascending):
        return 0
    blocks = range(0, len(ascending) - 1, _BLOCK)
    return 1 + sum(int(np.count_nonzero(np.diff(ascending[start : start + _BLOCK + 1]))) for start in blocks)


def rewritten(n_of: Mapping[str, int], normalized: Callable[[str], str]) -> dict[str, Any]:
    """Which characters of targets a tokenizer writes another way, so that no translation can have them.

    White space (and U+2581, which becomes a space) does not count, nor do letters that look the same.

    Args:
        n_of: how often the targets have each character.
        normalized: what the tokenizer makes of a text before it cuts it, with U+2581 for a space.
    Returns:
        `characters` and how many of these are `rewritten`; `examples`, as `？ as ? (12×)`, the commonest
        first.
    """
    others = {}
    for character, n in sorted(n_of.items(), key=lambda item: (-item[1], item[0])):
        other = normalized(f"a{character}a").replace("▁", " ").strip()  # alone, what becomes a space would go
        if not (character.isspace() or character == "▁") and composed(other) != composed(f"a{character}a"):
            others[character] = f"{_shown(character)} as {_shown(other[1:-1])} ({n:,}×)"
    return {
        "characters": sum(n_of.values()),
        "rewritten": sum(n_of[character] for character in others),
        "examples": list(others.values())[:_MOST_EXAMPLES],
    }


def _shown(text: str) -> str:
    if not text.strip():
        return "a space" if text else "nothing"
    return text if text.isprintable() else " ".join(f"U+{ord(character):04X}" for character in text)


def render(report: Mapping[str, Any]) -> str:
    """The report of `prepare` for people: one paragraph a split, one fact a line."""
    tokenizer = report["tokenizer"]
    lines = [f"tokenizer: {tokenizer['vocab_size']:,} pieces, fingerprint {tokenizer['fingerprint'][:12]}"]
    train = report["splits"].get("train", {})
    is_clean = "overlap" in train.get("rejected", {})
    remedy = "" if is_clean else "; data.drop_overlap=exact leaves such pairs out of train"
    for name, split in report["splits"].items():
        lines.append(f"{name}: {split['pairs_kept']:,} pairs" + _rejections(split))
        lines += _sources(split.get("sources", []))
        for origin in split.get("origins", []):
            lines.append(f"  from {origin['name']}" + (f" (licence: {origin['licence']})" if origin["licence"] else ""))
        for side, n_tokens in split["tokens"].items():
            percentiles = split["length_percentiles"][side]
            shape = ", ".join(f"{value} at {key}%" for key, value in percentiles.items())
            lines.append(f"  {side}: {n_tokens:,} tokens; length {shape}")
            if n_empty := split["without_tokens"][side]:
                lines.append(f"  {side}: {n_empty:,} sentences without tokens")
        if shares := split.get("sentences"):  # of lines with 1, 2, ..., and 10 or more sentences
            several = [f", {share:.1%} of {k}" for k, share in enumerate(shares, start=1) if k > 1 and share >= 0.001]
            lines.append(f"  src: {shares[0]:.1%} of the lines have one sentence{''.join(several)}")
        if split["duplicate_pairs"]:
            lines.append(f"  {split['duplicate_pairs']:,} pairs repeat an earlier one")
        if "references" in split:
            lines.append(f"  {split['references']:,} references, several for some sources")
        if (found := split.get("rewritten", {})).get("rewritten"):  # runs of older versions have other figures
            lines.append(
                f"  tgt: no translation can have {found['rewritten']:,} of {found['characters']:,} characters, which "
                f"the tokenizer writes another way: {', '.join(found['examples'])}; tokenizer.normalization=nfc keeps "
                "them"
            )
        if split.get("tokenised"):
            lines.append("  tgt: tokens with spaces between them, not text; bleu, chrf and ter are scores of tokens")
        if overlap := split.get("overlap"):
            sources, pairs = overlap["sources_in_train"], overlap["pairs_in_train"]
            lines.append(f"  also in train: {sources:,} sources, {pairs:,} whole pairs{remedy if sources else ''}")
    return "\n".join(lines)


def _sources(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """The share of an epoch that each source has, if it is not simply the text of one."""
    lines = []
    for each in sources if len(sources) > 1 or any(each["times"] != 1 for each in sources) else ():
        name = each["files"][0] + (f" (tag {each['tag']})" if each["tag"] else "")
        times, share = each["times"], each["share"]
        dropped = each.get("rejected", {})
        left_out = f"; left out {sum(dropped.values()):,} ({_counts(dropped)})" if dropped else ""
        lines.append(f"  {name}: {each['pairs']:,} pairs, {times:.2f} times an epoch, {share:.1%} of it{left_out}")
    return lines


def _rejections(split: Mapping[str, Any]) -> str:
    n_rejected = split["pairs_read"] - split["pairs_kept"]
    if not n_rejected:
        return ""
    return f" of {split['pairs_read']:,} read; left out {n_rejected:,} ({_counts(split['rejected'])})"


def _counts(rejected: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count:,}" for reason, count in rejected.items() if count)


def _percentiles(lengths: NDArray[np.integer[Any]]) -> dict[str, int]:
    """For each percentage, the length that so many of the sentences do not exceed."""
    if not len(lengths):
        return {}
    values = np.percentile(lengths, _PERCENTILES, method="inverted_cdf")
    return {str(percent): int(value) for percent, value in zip(_PERCENTILES, values, strict=True)}
