"""From text files to the batches of an epoch. Read prepare, store, mixture, batches, pair_readers, in this order."""
