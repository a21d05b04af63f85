from types import SimpleNamespace

import numpy as np

from seq2seq.dataset.augmentation import Growth
from seq2seq.dataset.room import Roomier


def test_room_worked_out_by_hand():
    slots = SimpleNamespace(
        src_lengths=np.array([0, 3, 5, 12]), tgt_lengths=np.array([7, 1, 2, 13]), pairs=lambda epoch: [epoch]
    )
    roomier = Roomier(slots, (Growth(1.5, 0), Growth(1.0, 4)), longest=11)
    assert roomier.src_lengths.tolist() == [0, 5, 8, 12]  # 4.5 and 7.5 rounded up; never less than before
    assert roomier.tgt_lengths.tolist() == [11, 5, 6, 13]
    assert roomier.pairs(3) == [3]
