"""Text as people write it: capitals, no accents, typos, emoji, two sentences on a line.

A disguise is a way of writing that edited corpora do not have. What a model loses on it is measured on disguised test
sets. kinds.py has the list; every other file here is one family of disguises, as pure functions.
"""

from seq2seq.corpus.disguises.joining import joined
from seq2seq.corpus.disguises.kinds import DISGUISES, SEED, VERSION, Disguise, named
from seq2seq.corpus.disguises.stream import disguised, disguised_in_turn

__all__ = ["DISGUISES", "SEED", "VERSION", "Disguise", "disguised", "disguised_in_turn", "joined", "named"]
