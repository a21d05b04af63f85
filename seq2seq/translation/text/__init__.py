"""Text before and after the model: splitting, word alignment, typography, and signs that a translation went wrong."""
