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
