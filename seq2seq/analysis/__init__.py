"""What a model gets wrong, sentence by sentence."""
