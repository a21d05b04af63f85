"""Faults in the batches: the plan of an epoch, its place, what its rows are, how pairs are read."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="the last batches of an epoch are dropped",
        file="seq2seq/dataset/plan.py",
        text="batches = (groups[:, None] * world_size",
        becomes="batches = (groups[:-1, None] * world_size",
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="the last pair of a batch is in the next one, too",
        file="seq2seq/dataset/plan.py",
        text="np.stack([bounds[batches], bounds[batches + 1]], axis=1)",
        becomes="np.stack([np.maximum(bounds[batches] - 1, 0), bounds[batches + 1]], axis=1)",
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="every epoch has the batches of the first one",
        file="seq2seq/dataset/plan.py",
        text="rng = np.random.default_rng((seed, epoch))",
        becomes="rng = np.random.default_rng(seed)",
        tests=["tests/dataset/test_plan.py::test_a_plan_is_a_function_of_its_arguments"],
    ),
    Mutant(
        fault="a batch may have one pair more than its budget allows",
        file="seq2seq/dataset/plan.py",
        text="budget_end = start + max_tokens // longest",
        becomes="budget_end = start + max_tokens // longest + 1",
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="the budget does not count eos",
        file="seq2seq/dataset/plan.py",
        text="with_eos = [int(lengths[end - 1]) + 1 for end in ends]",
        becomes="with_eos = [int(lengths[end - 1]) for end in ends]",
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="the batches of an epoch do not share out over the ranks",
        file="seq2seq/dataset/plan.py",
        text="n_needed = -(-(len(bounds) - 1) // world_size) * world_size",
        becomes="n_needed = len(bounds) - 1",
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="sources are shuffled, so that long and short ones are padded together",
        file="seq2seq/dataset/plan.py",
        text="_sort(rows, minor, other)",
        becomes="_sort(rows, np.zeros_like(minor), other)",
        tests=["tests/dataset/test_plan.py::test_realistic_lengths_leave_little_padding"],
    ),
    Mutant(
        fault="the rows of each block are sorted into the places of those of the block before",
        file="seq2seq/dataset/plan.py",
        text="        nexts += counts",
        becomes="        nexts += 0",
        tests=["tests/dataset/test_plan.py::test_rows_are_sorted_in_place_and_equal_ones_keep_their_order"],
    ),
    Mutant(
        fault="a plan takes the first sides of a batch for its longest ones",
        file="seq2seq/dataset/plan.py",
        text="np.maximum.reduceat(side, bounds[:-1]) for side",
        becomes="side[bounds[:-1]] for side",
        tests=["tests/dataset/test_plan.py::test_a_plan_knows_the_longest_sides_of_its_batches"],
    ),
    Mutant(
        fault="a step counts the targets of its first micro-batch",
        file="seq2seq/dataset/batches.py",
        text="sum(batch.n_tgt_tokens for batch in self.micro_batches)",
        becomes="self.micro_batches[0].n_tgt_tokens",
        tests=["tests/dataset/test_batches.py::test_a_step_has_so_many_micro_batches_and_knows_its_target_tokens"],
    ),
    Mutant(
        fault="what the decoder reads does not begin with bos",
        file="seq2seq/dataset/batches.py",
        text="pad(tgt, begin=BOS)",
        becomes="pad(tgt, end=PAD)",
        tests=["tests/dataset/test_batches.py::test_padding_frames_each_row"],
    ),
    Mutant(
        fault="an epoch begins with its second step",
        file="seq2seq/dataset/batches.py",
        text="divmod(self.n_done, len(self))",
        becomes="divmod(self.n_done + 1, len(self))",
        tests=["tests/dataset/test_batches.py::test_a_step_has_so_many_micro_batches_and_knows_its_target_tokens"],
    ),
    Mutant(
        fault="every epoch is the first one",
        file="seq2seq/dataset/batches.py",
        text="(draw, plan), accumulate = self._plan_of(epoch)",
        becomes="(draw, plan), accumulate = self._plan_of(0)",
        tests=["tests/training/test_data.py::test_one_source_or_a_temperature_of_1_changes_no_batch"],
    ),
    Mutant(
        fault="the loss of valid leaves out a batch",
        file="seq2seq/dataset/batches.py",
        text="for indices in batches[rank::world_size]",
        becomes="for indices in batches[rank + 1 :: world_size]",
        tests=["tests/dataset/test_batches.py::test_validation_covers_every_pair_once_with_a_batch_for_each_rank"],
    ),
    Mutant(
        fault="an epoch has as many batches as its draws need",
        file="seq2seq/dataset/batches.py",
        text="len(plan) == self._n_batches:",
        becomes="True:",
        tests=[
            "tests/dataset/test_epoch.py::test_an_epoch_whose_draws_need_more_batches_reads_the_rows_of_the_first_one"
        ],
    ),
    Mutant(
        fault="nothing is kept for epochs whose draws are longer",
        file="seq2seq/dataset/batches.py",
        text="reserve=differ and draw == 0,",
        becomes="reserve=False,",
        tests=["tests/dataset/test_epoch.py::test_the_share_of_epochs_that_repeat_the_first_one_is_small"],
    ),
    Mutant(
        fault="a run goes on with other draws than those it began with",
        file="seq2seq/dataset/batches.py",
        text="if start.version != VERSION and (",
        becomes="if False and (",
        tests=[
            "tests/training/test_wrong_states.py::"
            "test_a_run_goes_on_from_a_state_of_older_draws_only_if_nothing_is_drawn"
        ],
    ),
    Mutant(
        fault="the batches that are halved are not the largest",
        file="seq2seq/dataset/plan.py",
        text='np.argsort(-sizes, kind="stable")',
        becomes='np.argsort(sizes, kind="stable")',
        tests=["tests/dataset/test_plan.py::test_a_plan_has_the_batches_of_the_plain_one"],
    ),
    Mutant(
        fault="a partial copy has the same pairs in every epoch",
        file="seq2seq/dataset/epoch.py",
        text="start = (self.turn + epoch * self.n_rows) % self.n_pairs",
        becomes="start = self.turn % self.n_pairs",
        tests=["tests/dataset/test_epoch.py::test_each_pair_comes_as_often_as_its_source_says"],
    ),
    Mutant(
        fault="the pairs of a partial copy move on by two places, so that some come more often than others",
        file="seq2seq/dataset/epoch.py",
        text="start = (self.turn + epoch * self.n_rows) % self.n_pairs",
        becomes="start = (self.turn + 2 * epoch * self.n_rows) % self.n_pairs",
        tests=["tests/dataset/test_epoch.py::test_each_pair_comes_as_often_as_its_source_says"],
    ),
    Mutant(
        fault="the weight of a source changes nothing",
        file="seq2seq/dataset/epoch.py",
        text="n * weight * (largest / n)",
        becomes="n * (largest / n)",
        tests=["tests/dataset/test_epoch.py::test_weights_worked_out_by_hand"],
    ),
    Mutant(
        fault="a pair meets the same augmentation in every epoch",
        file="seq2seq/dataset/epoch.py",
        text="SeedSequence((seed, epoch, 1))",
        becomes="SeedSequence((seed, 1))",
        tests=["tests/dataset/test_epoch.py::test_augmentations_are_a_function_of_seed_and_epoch"],
    ),
    Mutant(
        fault="augmentations of one row are drawn by the same number",
        file="seq2seq/dataset/epoch.py",
        text="[list(AUGMENTATIONS).index(first)]",
        becomes="[0]",
        tests=["tests/dataset/test_epoch.py::test_rows_have_augmentations_in_their_shares"],
    ),
    Mutant(
        fault="the last pair of a source is joined to the first one of the next",
        file="seq2seq/dataset/epoch.py",
        text="return n if pair + n <= self._ends",
        becomes="return n if pair + n <= self._ends[-1] or pair + n <= self._ends",
        tests=["tests/dataset/test_epoch.py::test_pairs_are_joined_within_their_source"],
    ),
    Mutant(
        fault="what is drawn for a row does not depend on the epoch",
        file="seq2seq/dataset/pair_reader.py",
        text='f"{epoch} {row}"',
        becomes='f"{row}"',
        tests=["tests/dataset/test_pair_reader.py::test_what_is_drawn_is_a_function_of_seed_epoch_and_row"],
    ),
    Mutant(
        fault="what is drawn for a row does not depend on the seed",
        file="seq2seq/dataset/pair_reader.py",
        text='f"{self.seed} {place}"',
        becomes='f"{place}"',
        tests=["tests/dataset/test_pair_reader.py::test_what_is_drawn_is_a_function_of_seed_epoch_and_row"],
    ),
    Mutant(
        fault="a drawn segmentation may have one token more than fits",
        file="seq2seq/dataset/pair_reader.py",
        text="if len(ids) <= most",
        becomes="if len(ids) <= most + 1",
        tests=["tests/dataset/test_pair_reader.py::test_a_segmentation_that_does_not_fit_is_drawn_again"],
    ),
    Mutant(
        fault="an augmented target may be longer than its batch",
        file="seq2seq/dataset/pair_reader.py",
        text=" and len(ids[1]) <= rows.max_tgt:",
        becomes=":",
        tests=[
            "tests/dataset/test_pair_reader.py::"
            "test_an_augmented_pair_is_read_as_it_is_stored_where_one_of_its_sides_does_not_fit"
        ],
    ),
    Mutant(
        fault="merges are made with the probability with which they should be left out",
        file="seq2seq/segmentation.py",
        text="while turn < n_turns and draw() >= self._rate:",
        becomes="while turn < n_turns and draw() < self._rate:",
        tests=["tests/test_segmentation.py::test_segmentations_have_their_exact_chances"],
    ),
]
