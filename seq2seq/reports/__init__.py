"""Compare runs: a test of two, a table of many, and how they learned."""
