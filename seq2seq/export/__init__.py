"""A trained model in a form to ship, and a check that it still translates the same.

Read export.py, conversion.py, parity.py, in this order.
"""
