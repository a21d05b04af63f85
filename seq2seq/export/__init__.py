"""A trained model in a form to ship, and the proof that both say the same.

Read export.py, conversion.py, parity.py, in this order.
"""
