"""The stages of a run, in which training sources have other doses: a curriculum.

    [{until_epoch: 4}, {weights: {crawl: 0}}]                        four epochs as data.train says, then without crawl
    [{until_epoch: 4, weights: {news: 0}}, {shares: {news: 0.3}}]    four epochs without news, then 30% news

A source that a stage does not name has what data.train says. A source is called by its `name`, or else by its tag, or
else by its file, as news for corpus/news.tsv.gz.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from seq2seq.config.doses import Dose, check_doses, read_share, read_weight
from seq2seq.config.sources import SourceSpec
from seq2seq.errors import ConfigError

_READERS = {"weights": read_weight, "shares": read_share}


@dataclass(frozen=True)
class Stage:
    """Some epochs of a run."""

    until_epoch: int | None  # it is over after so many epochs of the run; None: it lasts until the end of the run
    doses: tuple[Dose, ...]  # of each source of data.train


def parse_stages(value: object, sources: Sequence[SourceSpec]) -> list[Stage]:
    """Read `data.stages`. There is always a stage, if only one that lasts for all of the run.

    Raises:
        ConfigError: one line for each stage that cannot be meant.
    """
    usual = [source.dose for source in sources]
    if value is None or value == []:
        check_doses("data.train", usual)
        return [Stage(None, tuple(usual))]
    if not isinstance(value, list):
        raise ConfigError(f"data.stages={value!r} is not a list such as [{{until_epoch: 4}}, {{weights: {{NAME: 0}}}}]")
    stages, problems, before = [], [], 0
    for number, entry in enumerate(value):
        key = f"data.stages[{number}]"
        try:
            end = _end(key, entry, before, is_last=number == len(value) - 1)
            stages.append(Stage(end, tuple(_doses(key, entry, usual, sources))))
            check_doses(key, stages[-1].doses)
            before = end or before
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    return stages


def stage_of(stages: Sequence[Stage], epoch: int) -> Stage:
    """The stage of an epoch, counted from 0."""
    return stages[bisect_right(ends_of(stages), epoch)]


def ends_of(stages: Sequence[Stage]) -> list[int]:
    """How many epochs are over at the end of each stage but the last, which has none."""
    return [stage.until_epoch for stage in stages if stage.until_epoch is not None]


def changes(
    sources: Sequence[SourceSpec], before: Sequence[Stage], after: Sequence[Stage], n_epochs: int
) -> Iterator[str]:
    """What differs in the first `n_epochs` epochs between two curricula of these sources, in words."""
    for epoch in range(n_epochs):
        olds, news = stage_of(before, epoch).doses, stage_of(after, epoch).doses
        for source, old, new in zip(sources, olds, news, strict=True):
            if old != new:
                yield f"{source.called} has {old} in epoch {epoch + 1}, not {new}"


def _end(key: str, entry: object, before: int, *, is_last: bool) -> int | None:
    if not isinstance(entry, Mapping) or not set(entry) <= {"until_epoch", *_READERS}:
        raise ConfigError(f"{key}: {entry!r} is not of the form {{until_epoch: N, weights: {{NAME: W}}, shares: ...}}")
    end = entry.get("until_epoch")
    if is_last:
        if end is not None:
            raise ConfigError(f"{key}: the last stage lasts until the end of the run; leave until_epoch={end} out")
        return None
    if type(end) is not int or end <= before:
        expected = f"above {before}, where the stage before it ends" if before else "a whole number, 1 or more"
        raise ConfigError(f"{key}: until_epoch={end!r} is not {expected}")
    return end


def _doses(
    key: str, entry: Mapping[str, object], usual: Sequence[Dose], sources: Sequence[SourceSpec]
) -> Iterator[Dose]:
    names = [source.called for source in sources]
    given: dict[str, Dose] = {}
    for kind, read in _READERS.items():
        of_kind = entry.get(kind) or {}
        if not isinstance(of_kind, Mapping):
            raise ConfigError(f"{key}.{kind}={of_kind!r} is not of the form {{NAME: NUMBER}}")
        for each, value in of_kind.items():
            name = str(each)
            if name not in names:
                known = ", ".join(names)
                raise ConfigError(f"{key}.{kind}: no source of data.train is called {name!r}; there are {known}")
            if names.count(name) > 1:
                raise ConfigError(f"{key}.{kind}: several sources of data.train are called {name!r}; give each a name")
            if name in given:
                raise ConfigError(f"{key}: {name!r} has a weight and a share; choose one")
            given[name] = read(f"{key}.{kind}.{name}", value)
    return (given.get(name, dose) for name, dose in zip(names, usual, strict=True))
