"""A small French-English grammar: word tables, the morphology of each language, and sentence patterns."""
