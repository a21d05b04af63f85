"""Faults in what trackers are told."""

from tests.mutants.mutant import Mutant

CHARTS, DOMAINS = "tests/training/test_charts.py", "tests/training/test_domains.py"
PRIVACY = f"{CHARTS}::test_wandb_gets_text_of_the_corpus_only_if_it_is_asked_to"

MUTANTS = [
    Mutant(
        fault="a resumed run counts its target tokens from 0",
        file="seq2seq/training/metrics.py",
        text='= int(state_dict["tgt_tokens"]), float(state_dict["seconds"])',
        becomes='= 0, state_dict["seconds"]',
        tests=[f"{CHARTS}::test_each_row_has_its_place_on_every_axis_and_a_resumed_run_counts_on"],
    ),
    Mutant(
        fault="a resumed run counts its hours from 0",
        file="seq2seq/training/metrics.py",
        text='= int(state_dict["tgt_tokens"]), float(state_dict["seconds"])',
        becomes='= state_dict["tgt_tokens"], 0.0',
        tests=[f"{CHARTS}::test_each_row_has_its_place_on_every_axis_and_a_resumed_run_counts_on"],
    ),
    Mutant(
        fault="only the tokens of the latest step are counted",
        file="seq2seq/training/metrics.py",
        text="self.n_tgt_tokens = self.n_tgt_tokens + pl_module.n_step_tokens",
        becomes="self.n_tgt_tokens = pl_module.n_step_tokens",
        tests=["tests/training/test_counters.py"],
    ),
    Mutant(
        fault="charts are over optimizer steps, whatever is chosen",
        file="seq2seq/training/trackers.py",
        text='define_metric("*", step_metric=x_axis,',
        becomes='define_metric("*", step_metric=STEP,',
        tests=[f"{CHARTS}::test_the_x_axis_of_wandb_is_the_chosen_one"],
    ),
    Mutant(
        fault="the loss of a domain has the sentences of another",
        file="seq2seq/training/validation.py",
        text="domains.places(indices)",
        becomes="domains.places(np.sort(indices))",
        tests=["tests/training/test_validation.py"],
    ),
    Mutant(
        fault="samples are the first sentences of each domain",
        file="seq2seq/training/validation.py",
        text="for i in spread(len(part), share)] if share",
        becomes="for i in range(share)] if share",
        tests=[DOMAINS],
    ),
    Mutant(
        fault="W&B gets sentences unasked",
        file="seq2seq/training/trackers.py",
        text="        if self.shows_text:\n",
        becomes="        if True:\n",
        tests=[PRIVACY],
    ),
    Mutant(
        fault="W&B gets pictures with pieces of sentences unasked",
        file="seq2seq/training/trackers.py",
        text="        if not self.shows_text:\n",
        becomes="        if False:\n",
        tests=[PRIVACY],
    ),
    Mutant(
        fault="words of the corpus are markup in W&B's pages",
        file="seq2seq/training/trackers.py",
        text="html.escape(str(value))",
        becomes="str(value)",
        tests=[f"{CHARTS}::test_samples_are_the_same_sentences_of_all_domains"],
    ),
    Mutant(
        fault="a tracker that has failed is called again",
        file="seq2seq/training/trackers.py",
        text="failed, self._tracker = self._tracker, None",
        becomes="failed = self._tracker",
        tests=["tests/training/test_guarded.py"],
    ),
]
