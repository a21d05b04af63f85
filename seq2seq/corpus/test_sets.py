"""The test sets of a run: those that its configuration names, and on request each of them in every disguise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seq2seq.config import DataConfig, SourceSpec
from seq2seq.corpus.disguises import DISGUISES


@dataclass(frozen=True)
class TestSet:
    """Text that a run is tested on.

    Attributes:
        sources: where it is.
        clean: the name of the test set that this one shows in disguise because of `data.robustness`; empty if the
            configuration names it.
    """

    sources: Sequence[SourceSpec]
    clean: str = ""

    @property
    def ignores_case(self) -> bool:
        """Whether its scores ignore case."""
        return any(DISGUISES[name].ignores_case for source in self.sources for name in source.disguises)


def all_test_sets(config: DataConfig) -> dict[str, TestSet]:
    """All test sets by their names. One that has a disguise already gets no other one."""
    sets: dict[str, TestSet] = {}
    for name, sources in config.tests.items():
        sets[name] = TestSet(sources)
        if config.robustness and not any(source.disguises for source in sources):
            for disguise in DISGUISES:
                if f"{name}/{disguise}" not in config.tests:
                    disguised = [replace(source, disguises=(disguise,)) for source in sources]
                    sets[f"{name}/{disguise}"] = TestSet(disguised, clean=name)
    return sets
