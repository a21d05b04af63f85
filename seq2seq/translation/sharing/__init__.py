"""One text translated by several processes: of torchrun or srun, or the tasks of a job array.

Read processes.py (who this process is), plan.py (the parts of a text), share.py (the parts of one process), run.py
(who waits for whom) and join.py. docs/decisions/0020-a-shared-translation-lies-in-parts.md says why. Nothing here
imports torch.
"""
