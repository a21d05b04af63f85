"""A run, from its configuration to its scores.

Read run.py first, then module.py, loss.py, validation.py, selection.py. What happens around the steps is in
milestones.py, divergence.py, metrics.py and averaging.py.
"""
