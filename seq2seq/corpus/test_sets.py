"""The test sets of a run: those that its configuration names, and on request each of them with every augmentation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seq2seq.config import DataConfig, SourceSpec
from seq2seq.corpus.augmentation import AUGMENTATIONS


@dataclass(frozen=True)
class TestSet:
    """Text that a run is tested on.

    Attributes:
        sources: where it is.
        clean: the name of the test set that this one shows with augmentation because of `data.robustness`; empty if the
            configuration names it.
    """

    sources: Sequence[SourceSpec]
    clean: str = ""

    @property
    def ignores_case(self) -> bool:
        """Whether its scores ignore case."""
        return any(AUGMENTATIONS[name].ignores_case for source in self.sources for name in source.augmentations)


def all_test_sets(config: DataConfig) -> dict[str, TestSet]:
    """All test sets by their names. One that has an augmentation already gets no other one."""
    sets: dict[str, TestSet] = {}
    for name, sources in config.tests.items():
        sets[name] = TestSet(sources)
        if config.robustness and not any(source.augmentations for source in sources):
            for augmentation in AUGMENTATIONS:
                if f"{name}/{augmentation}" not in config.tests:
                    augmented = [replace(source, augmentations=(augmentation,)) for source in sources]
                    sets[f"{name}/{augmentation}"] = TestSet(augmented, clean=name)
    return sets
