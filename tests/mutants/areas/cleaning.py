"""Faults in cleaning: what a rule measures, what is nearly the same, what valid and test take out of train."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="the cache gives training text without the sentences of other test sets",
        file="seq2seq/dataset/prepare.py",
        text='known = {"held_out": _content(_held_out(splits), digests)} if filters.drops_overlap else {}',
        becomes="known: dict[str, Any] = {}",
        tests=["tests/dataset/test_clean_training_text.py::test_another_test_set_makes_the_training_text_anew"],
    ),
    Mutant(
        fault="the tokenizer learns from what is left out",
        file="seq2seq/dataset/prepare.py",
        text="pairs = good_pairs(filters, pairs) if filters.reads_text else pairs",
        becomes="pairs = good_pairs(filters, pairs) if False else pairs",
        tests=["tests/dataset/test_clean_training_text.py::test_a_run_cleans_its_text_for_the_tokenizer_too"],
    ),
    Mutant(
        fault="a resumed run takes training text without the sentences of other test sets",
        file="seq2seq/training/data.py",
        text='return {**split["files"], **split.get("without", {})}',
        becomes='return {**split["files"]}',
        tests=["tests/training/test_preparation.py::test_a_run_that_drops_overlap_goes_on_only_with_its_test_sets"],
    ),
    Mutant(
        fault="short sentences of a test set are taken out of the training text wherever they are",
        file="seq2seq/corpus/cleaning/held_out.py",
        text="n_words(side) >= LEAST_WORDS",
        becomes="n_words(side) >= 1",
        tests=[
            "tests/dataset/test_clean_training_text.py::test_pairs_of_valid_and_test_are_dropped_and_counted",
        ],
    ),
    Mutant(
        fault="further references of a test set may stay in the training text",
        file="seq2seq/corpus/cleaning/held_out.py",
        text="for reference in (tgt, *further):",
        becomes="for reference in (tgt,):",
        tests=["tests/dataset/test_clean_training_text.py::test_the_further_references_of_a_test_count"],
    ),
    Mutant(
        fault="a text is compared with texts that were dropped",
        file="seq2seq/corpus/cleaning/near.py",
        text="            if is_new[row]:\n",
        becomes="            if True:\n",
        tests=["tests/corpus/cleaning/test_near.py::test_blocks_change_nothing_and_what_stays_stays_again"],
    ),
    Mutant(
        fault="elements of two texts are mixed up",
        file="seq2seq/corpus/cleaning/near.py",
        text="    for offset in range(1, _WIDTH):\n",
        becomes="    for offset in range(2, _WIDTH + 1):\n",
        tests=["tests/corpus/cleaning/test_near.py::test_a_sketch_does_not_depend_on_its_neighbours"],
    ),
    Mutant(
        fault="numbers in words count as wrong numbers",
        file="seq2seq/corpus/cleaning/numbers.py",
        text="return number < _IN_WORDS_BELOW or",
        becomes="return number < 0 or",
        tests=["tests/corpus/cleaning/test_measures.py::test_good_pairs_stay"],
    ),
    Mutant(
        fault="a pair at the threshold is dropped",
        file="seq2seq/corpus/judge.py",
        text="reject(name, values > self._thresholds[name])",
        becomes="reject(name, values >= self._thresholds[name])",
        tests=["tests/corpus/cleaning/test_files.py::test_good_pairs_and_the_others_with_their_reasons_are_written"],
    ),
    Mutant(
        fault="sentences of nothing but punctuation are all alike",
        file="seq2seq/corpus/groups.py",
        text='return kept or "".join(folded.split())',
        becomes="return kept",
        tests=["tests/corpus/test_groups.py"],
    ),
]
