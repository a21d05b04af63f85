"""Faults that show only if a run has several processes."""

from tests.mutants.mutant import Mutant

TWO_PROCESSES = "tests/training/test_distributed.py::test_two_processes_train_the_model_that_one_would"
TWO_VALIDATE = "tests/training/test_validation.py"

MUTANTS = [
    Mutant(
        fault="the first step after a start sums gradients in another order than later ones",
        file="seq2seq/training/callbacks/gradient_order.py",
        text="if not isinstance(ddp, DistributedDataParallel):",
        becomes="if isinstance(ddp, DistributedDataParallel):",
        tests=[
            "tests/training/test_restarts.py"
            "::test_the_order_in_which_gradients_are_summed_is_settled_before_the_first_step"
        ],
    ),
    Mutant(
        fault="with another number of processes, each does as many micro-batches as before",
        file="seq2seq/dataset/batches.py",
        text="return n_in_step // world_size",
        becomes="return config.accumulate",
        tests=["tests/dataset/test_batches.py"],
    ),
    Mutant(
        fault="a position that another number of processes saved is taken for one's own",
        file="seq2seq/dataset/batches.py",
        text='state["done"] * state["world_size"] // self.world_size',
        becomes='state["done"]',
        tests=["tests/dataset/test_batches.py"],
    ),
    Mutant(
        fault="Muon changes the first rows of a matrix in each process that has some of its rows",
        file="seq2seq/training/sharded.py",
        text="min(tensor.device_mesh.get_local_rank() * n_rows, len(tensor))",
        becomes="0 * n_rows",
        tests=["tests/training/test_sharded.py"],
    ),
    Mutant(
        fault="the exponential average is saved empty",
        file="seq2seq/training/callbacks/averaging.py",
        text='{"weights": self.whole_weights(), "n_updates"',
        becomes='{"weights": {n: whole(w) * 0 for n, w in self.weights.items()}, "n_updates"',
        tests=["tests/training/test_sharded.py"],
    ),
    Mutant(
        fault="translations that are gathered are not in the order of their sources",
        file="seq2seq/training/sharing.py",
        text="sorted(chain.from_iterable(share.items() for share in shares), key=lambda e: e[0])",
        becomes="chain.from_iterable(share.items() for share in shares)",
        tests=[TWO_VALIDATE],
    ),
    Mutant(
        fault="each process translates all of valid",
        file="seq2seq/training/validation.py",
        text="spread(len(store), n_sentences)[rank::world_size]",
        becomes="spread(len(store), n_sentences)[:: 1 + 0 * rank]",
        tests=[TWO_VALIDATE],
    ),
    Mutant(
        fault="the loss of valid is that of one process's share",
        file="seq2seq/training/validation.py",
        text="        torch.distributed.all_reduce(sums)\n",
        becomes="",
        tests=[TWO_VALIDATE],
    ),
    Mutant(
        fault="a process trains on the batches of another step",
        file="seq2seq/dataset/batches.py",
        text="self._plans.of(epoch)[self.rank :: self.world_size]",
        becomes="(whole := self._plans.of(epoch))[self.rank * (n := len(whole) // self.world_size) :][:n]",
        tests=["tests/dataset/test_batches.py::test_ranks_get_equally_many_batches_of_about_the_same_work"],
    ),
    Mutant(
        fault="the tokens of a step are those of one process",
        file="seq2seq/training/module.py",
        text="torch.distributed.all_reduce(self.n_tokens_of_all)",
        becomes="torch.clone(self.n_tokens_of_all)",
        tests=[TWO_PROCESSES],
    ),
    Mutant(
        fault="gradients are averaged over processes, and nothing undoes that",
        file="seq2seq/training/module.py",
        text="smoothed / self.n_tokens_of_all * self.trainer.world_size",
        becomes="smoothed / self.n_tokens_of_all",
        tests=[TWO_PROCESSES],
    ),
    Mutant(
        fault="the logged loss is that of the first process",
        file="seq2seq/training/module.py",
        text="torch.distributed.all_reduce(sums)",
        becomes="torch.clone(sums)",
        tests=[TWO_PROCESSES],
    ),
    Mutant(
        fault="each process has the learning rate of its own clock",
        file="seq2seq/training/module.py",
        text="                torch.distributed.broadcast(shared, src=0)\n",
        becomes="",
        tests=[TWO_PROCESSES],
    ),
    Mutant(
        fault="all processes draw the same dropout",
        file="seq2seq/training/module.py",
        text=" * 4099 + self.global_rank)",
        becomes=" * 4099)",
        tests=["tests/training/test_module.py"],
    ),
    Mutant(
        fault="a signal stops the process that it reaches, and no other",
        file="seq2seq/training/callbacks/milestones.py",
        text="return int(told[0]), bool(told[1])",
        becomes="return signal, is_old",
        tests=["tests/training/callbacks/test_agreement.py"],
    ),
    Mutant(
        fault="a signal counts only if the first process gets it",
        file="seq2seq/training/callbacks/milestones.py",
        text="torch.distributed.all_reduce(told, op=torch.distributed.ReduceOp.MAX)",
        becomes="torch.distributed.broadcast(told, src=0)",
        tests=["tests/training/callbacks/test_agreement.py"],
    ),
    Mutant(
        fault="every process writes the end of a run",
        file="seq2seq/training/run.py",
        text="        if trainer.is_global_zero:\n            log_final_scores",
        becomes="        if trainer.is_global_zero or outcome:\n            log_final_scores",
        tests=[TWO_PROCESSES],
    ),
    Mutant(
        fault="a process hears what was told to the job before",
        file="seq2seq/training/ranks.py",
        text='self._store.set(f"{self._job}/{name}", value)',
        becomes='self._store.set(f"0/{name}", value)',
        tests=["tests/training/test_ranks_talk.py"],
    ),
    Mutant(
        fault="a meeting does not wait for the last process",
        file="seq2seq/training/ranks.py",
        text="for rank in range(1, self.world_size):",
        becomes="for rank in range(1, self.world_size - 1):",
        tests=["tests/training/test_ranks_talk.py"],
    ),
    Mutant(
        fault="who waits does not hear that another process failed",
        file="seq2seq/training/ranks.py",
        text="if (message := self.error()) is not None:",
        becomes="if (message := None) is not None:",
        tests=["tests/training/test_ranks_talk.py"],
    ),
    Mutant(
        fault="the last error hides the one that caused it",
        file="seq2seq/training/ranks.py",
        text='self._store.compare_set("error", "", message or "unknown")',
        becomes='self._store.set("error", message or "unknown")',
        tests=["tests/training/test_ranks_talk.py"],
    ),
    Mutant(
        fault="all processes of a machine begin on its first GPU",
        file="seq2seq/training/ranks.py",
        text="torch.cuda.set_device(self.environment.local_rank())",
        becomes="torch.cuda.set_device(0)",
        tests=["tests/training/test_ranks_talk.py::test_each_process_takes_its_own_gpu_before_it_meets_the_others"],
    ),
]
