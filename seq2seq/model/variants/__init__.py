"""Other ways to attend than that of the paper, each in one file; choice.py says which one a model has."""
