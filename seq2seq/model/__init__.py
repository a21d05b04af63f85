"""The Transformer.

Read transformer.py first, then encoder.py, decoder.py, layers.py, attention.py.
"""
