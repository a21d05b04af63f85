"""Search for the best translations of a batch, given the scores of the next token.

Read protocol.py, greedy.py, search_batch.py, beam.py, constraints.py, search.py, in this order.
"""
