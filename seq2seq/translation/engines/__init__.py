"""Engines turn token ids into token ids: the same searches in PyTorch and in CTranslate2."""
