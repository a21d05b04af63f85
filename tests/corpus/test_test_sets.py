from seq2seq.config import DataConfig
from seq2seq.config.sources import SourcePath
from seq2seq.corpus.augmentation import AUGMENTATIONS
from seq2seq.corpus.test_sets import all_test_sets


def test_without_a_wish_there_are_only_the_named_ones():
    sets = all_test_sets(DataConfig(test=["news", {"source": "news", "augmentation": ["typos", "lower"]}]))
    assert {name: (test.ignores_case, test.clean) for name, test in sets.items()} == {
        "news": (False, ""),
        "news/typos+lower": (True, ""),
    }


def test_robustness_adds_each_augmentation_after_its_test_set():
    sets = all_test_sets(DataConfig(test=["news", "talks"], robustness=True))
    expected = [name for clean in ("news", "talks") for name in (clean, *(f"{clean}/{kind}" for kind in AUGMENTATIONS))]
    assert list(sets) == expected
    for name, test in sets.items():
        clean, _, kind = name.partition("/")
        assert test.clean == (clean if kind else "")
        assert test.ignores_case == (kind in ("upper", "title", "lower"))
        assert list(test.sources) == [SourcePath(clean, None, (kind,) if kind else ())]


def test_a_set_augmented_rows_gets_no_other_and_a_named_set_keeps_its_name():
    named = {"source": "talks", "augmentation": "typos"}
    sets = all_test_sets(DataConfig(test={"news": "news", "chat": named, "news/typos": "other"}, robustness=True))
    assert [name for name, test in sets.items() if not test.clean] == ["news", "chat", "news/typos"]
    assert len(sets) == 3 + 2 * len(AUGMENTATIONS) - 1  # of news, where one has its name already, and of news/typos
    assert list(sets["news/typos"].sources) == [SourcePath("other")]
