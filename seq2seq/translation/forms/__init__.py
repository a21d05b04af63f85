"""The forms of input: plain lines, documents, subtitles and tables.

Read piece.py first, then read.py. Each form is a function from lines to pieces. None of them knows an engine.
"""
