"""Parallel text: where it is, how it is read, which pairs are left out, and what it looks like.

Read sources.py, reader.py, judge.py, report.py, in this order; split.py cuts one corpus into three, and augmentation/
makes edited text look like what people write.
"""
