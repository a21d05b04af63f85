"""A trained model in a form to ship, and the proof that both say the same."""
