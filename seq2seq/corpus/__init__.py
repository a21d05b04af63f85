"""Parallel text: where it is, how it is read, which pairs are left out, and what it looks like."""
