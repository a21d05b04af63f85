"""From text files to the batches of an epoch: prepare.py, store.py, mixture.py, batches.py."""
