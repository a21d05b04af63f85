"""What cleaning does to a corpus, for a terminal and as a page."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from seq2seq.config.clean import NO_LANGUAGE_MODEL
from seq2seq.reports.html import page
from seq2seq.reports.tables import Table, as_text

_LONGEST_EXAMPLE = 60  # characters of a side, in a terminal
_MEANINGS = {
    "empty": "a side has no text",
    "overlap": "valid or test has it",
    "near_overlap": "valid or test nearly has it",
    "duplicate": "the same as an earlier pair",
    "low_score": "the models do not find it likely",
}


def cleaning_text(report: Mapping[str, Any], width: int) -> str:
    """The report of `clean_files` as tables of at most `width` characters."""
    src, tgt = report["languages"]
    n_read, n_kept = report["read"], report["kept"]
    several = report["targets_of_a_source"]
    parts = [
        f"{n_read:,} pairs read, {n_kept:,} kept ({n_kept / n_read:.1%})",
        *notes(report),
        as_text(_reasons(report), width),
        as_text(_rules(report), width),
        as_text(_histogram("words a side", report, "lengths", "length_histogram", (src, tgt)), width),
        as_text(_histogram("longer side over shorter, in letters", report, "ratios", "ratio_histogram", ()), width),
        f"words: {_sides(report['before']['words'], (src, tgt))} before, "
        f"{_sides(report['after']['words'], (src, tgt))} after",
        *(
            f"{what} of {language} (one pair in ten): {_counts(report['before'][what][side])}"
            for what in ("languages", "scripts")
            for side, language in (("src", src), ("tgt", tgt))
        ),
        f"{report['copies']:,} copies, {report['duplicates']:,} exact repetitions; {several['with_several']:,} of "
        f"{several['sources']:,} sources have several targets, at most {several['most']:,}",
        f"normal forms (one pair in ten): {_counts(report['normal_forms'])}",
    ]
    if len(report["sources"]) > 1:
        parts.append(as_text(_sources(report), width))
    if examples := _examples(report):
        parts.append("\n".join(["examples", *examples]))
    return "\n\n".join(parts)


def notes(report: Mapping[str, Any]) -> list[str]:
    """What was mended, which rules are off, and what no rule can tell."""
    found = [f"rules that are off: {', '.join(report['off'])}"] if report["off"] else []
    found += [f"{NO_LANGUAGE_MODEL}; so it is off, and no languages are told"] if report["lacks_language"] else []
    found += [f"the rules script and language know nothing of {name!r}" for name in report["unknown_languages"]]
    return found + ([f"pairs that were mended: {_counts(report['repaired'])}"] if "repaired" in report else [])


def cleaning_page(report: Mapping[str, Any]) -> str:
    """The same as a page."""
    src, tgt = report["languages"]
    heading = f"{report['read']:,} pairs of {src} and {tgt}, {report['kept']:,} of them good"
    return page(
        heading, {"heading": heading, **report, "meanings": meanings(report), "notes": notes(report)}, "cleaning.js"
    )


def meanings(report: Mapping[str, Any]) -> dict[str, str]:
    """What each reason means."""
    return _MEANINGS | {rule["name"]: rule["reason"] for rule in report["rules"]}


def _reasons(report: Mapping[str, Any]) -> Table:
    said = meanings(report)
    rows = [
        (name, f"{count:,}", f"{count / report['read']:.2%}", said[name]) for name, count in report["rejected"].items()
    ]
    return Table("dropped, by the first reason of each pair", ("reason", "pairs", "share", "meaning"), rows)


def _rules(report: Mapping[str, Any]) -> Table:
    rows = [
        (
            rule["name"],
            f"{rule['threshold']:g}",
            "" if rule["suggested"] is None else f"{rule['suggested']:g}",
            f"{rule['failed']:,}",
            f"{rule['dropped_first']:,}",
        )
        for rule in report["rules"]
    ]
    title = "rules; `suggested` keeps 99% of the pairs that all other rules keep"
    return Table(title, ("rule", "threshold", "suggested", "above it", "dropped first"), rows)


def _histogram(title: str, report: Mapping[str, Any], bins: str, name: str, sides: Sequence[str]) -> Table:
    """A row for each bar, before and after."""
    starts = report["bins"][bins]
    named = [f"{low:g} to {high:g}" for low, high in pairwise(starts)] + [f"{starts[-1]:g} and more"]
    parts = (report["before"][name], report["after"][name])
    if sides:
        columns = [part[side] for side in ("src", "tgt") for part in parts]
        header = [f"{language} {when}" for language in sides for when in ("before", "after")]
    else:
        columns, header = list(parts), ["before", "after"]
    rows = [(label, *(f"{column[i]:,}" for column in columns)) for i, label in enumerate(named)]
    return Table(title, ("from", *header), [row for row in rows if any(cell != "0" for cell in row[1:])])


def _sources(report: Mapping[str, Any]) -> Table:
    rows = [
        (each["name"], f"{each['read']:,}", f"{each['kept']:,}", _counts(each["rejected"]))
        for each in report["sources"]
    ]
    return Table("sources", ("files", "read", "kept", "dropped"), rows)


def _examples(report: Mapping[str, Any]) -> list[str]:
    return [
        f"  {name}: {_short(each['src'])} | {_short(each['tgt'])}"
        for name, examples in report["examples"].items()
        for each in examples[:2]
    ]


def _short(text: str) -> str:
    return _visible(text if len(text) <= _LONGEST_EXAMPLE else text[: _LONGEST_EXAMPLE - 1] + "…")


def _visible(text: str) -> str:
    """With escapes in place of what a terminal would obey or not show."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda each: -each[1])) or "none"


def _sides(counts: Mapping[str, int], languages: Sequence[str]) -> str:
    return ", ".join(f"{language} {counts[side]:,}" for side, language in zip(("src", "tgt"), languages, strict=True))
