"""Translate with beams of different sizes, on one core:  a few seconds"""

import time

import torch
from demo import SENTENCES, bleu, translations

torch.set_num_threads(1)
translations()  # to warm up
print("beam    BLEU    sentences a second of one core")
for beam_size in (1, 2, 5, 10):
    began = time.process_time()
    score = bleu(beam_size)
    print(f"{beam_size:4} {score:7.1f} {SENTENCES / (time.process_time() - began):12.0f}")
