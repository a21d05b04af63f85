"""From text files to the batches of an epoch.

Read prepare.py, store.py, epoch.py, plan.py, batches.py, pair_reader.py, in this order.
"""
