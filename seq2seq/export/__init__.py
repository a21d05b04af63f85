"""A trained model in a form to ship, and a check that it still translates the same.

Read export.py, conversion.py, automatic.py, in this order.
"""
