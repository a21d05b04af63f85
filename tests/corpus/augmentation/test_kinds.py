import pickle
import random

from seq2seq.corpus.augmentation import AUGMENTATIONS


def test_kinds_have_their_order() -> None:
    assert " ".join(AUGMENTATIONS) == (
        "upper title lower accents quotes stop typos spaces emoji urls numbers placeholders join join3"
    )
    assert [name for name, augmentation in AUGMENTATIONS.items() if augmentation.ignores_case] == [
        "upper",
        "title",
        "lower",
    ]
    assert {name: kind.n_lines for name, kind in AUGMENTATIONS.items() if kind.n_lines > 1} == {"join": 2, "join3": 3}


def test_worker_processes_get_augmentations_by_pickle() -> None:
    for name, there in pickle.loads(pickle.dumps(AUGMENTATIONS)).items():
        texts = ["Hier, l'élève dort.", "Yesterday, the pupil slept."]
        assert there.apply(texts, random.Random(1)) == AUGMENTATIONS[name].apply(texts, random.Random(1))
