"""Compare runs: settings, scores and cost of many; scores of files; how runs learned."""
