"""A classifier in place of a translation model: its loss, its validation, what comes out of its runs."""
