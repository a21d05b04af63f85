"""A trained classifier as a function from text to a label."""
