"""Text before and after the model: splitting, typography, and signs that a translation went wrong."""
