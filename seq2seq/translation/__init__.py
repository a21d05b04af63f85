"""A trained model as a function from text to text."""
