"""Workers search batches at the same time. They are threads, or processes forked from this one.

`supervisor.py` hands out the work and deals with what goes wrong. `forked.py` and `threads.py` are the two forms of
workers, and `jobs.py` is what passes between them and the supervisor. docs/decisions/0008-forked-workers.md says when
workers are which, and why.
"""

from seq2seq.translation.engines.workers.supervisor import Task, Workers

__all__ = ["Task", "Workers"]
