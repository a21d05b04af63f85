from seq2seq.corpus.augmentation import AUGMENTATIONS


def test_kinds_keep_their_order_on_which_the_draws_of_an_epoch_depend() -> None:
    assert " ".join(AUGMENTATIONS) == (
        "upper title lower accents quotes stop typos spaces emoji urls numbers placeholders join join3"
    )
