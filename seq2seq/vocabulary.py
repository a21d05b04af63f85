"""The four special ids, the same in every vocabulary (fixed when the tokenizer is trained)."""

PAD = 0  # fills a batch up to its longest sentence; never read, never generated
UNK = 1  # a character outside the vocabulary; with byte fallback it does not occur
BOS = 2  # begins every decoder input
EOS = 3  # ends every source and every target
