"""From text files to the batches of an epoch.

Read prepare.py, store.py, mixture.py, plan.py, batches.py, pair_readers.py, in this order.
"""
