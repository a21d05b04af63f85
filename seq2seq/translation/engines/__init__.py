"""What turns token ids into token ids: the same searches in PyTorch and in CTranslate2."""
