"""Text as people write it: capitals, no accents, typos, emoji, two sentences on a line.

An augmentation is a way of writing that edited corpora do not have. What a model loses on it is measured on augmented
test sets. kinds.py has the list; every other file here is one family of augmentations, as pure functions.
"""

from seq2seq.corpus.augmentation.kinds import AUGMENTATIONS, SEED, VERSION, Augmentation, named
from seq2seq.corpus.augmentation.stream import augmented, augmented_in_turn, joined

__all__ = ["AUGMENTATIONS", "SEED", "VERSION", "Augmentation", "augmented", "augmented_in_turn", "joined", "named"]
