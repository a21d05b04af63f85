"""A trained model as a function from text to text.

Read translator.py first, then stream.py. `translate.py` begins in run.py. engines/ search; text/ knows no model.
"""
