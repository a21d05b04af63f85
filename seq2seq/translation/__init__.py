"""A trained model as a function from text to text.

Read translator.py first, then blocks.py, stream.py and flow.py. The command `translate.py` begins in run.py. engines/
search for the best tokens; text/ and forms/ need no model.
"""
