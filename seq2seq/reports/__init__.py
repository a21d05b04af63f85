"""Compare runs and show them: settings, scores and cost of many; scores of files; pictures; pages."""
