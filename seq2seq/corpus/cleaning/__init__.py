"""What is wrong with a pair, and with a corpus: rules, near-duplicates, held-out text, and a report of all of it."""
