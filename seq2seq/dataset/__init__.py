"""From text files to the batches of an epoch.

Read prepare.py, store.py, mixture.py, batches.py, pair_readers.py, in this order.
"""
