"""Faults in the analysis: what a model gets wrong, and what is said about it."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a word counts as copied although the target language has it",
        file="seq2seq/analysis/findings.py",
        text="expected = set(chain.from_iterable(map(letter_words, references))).union(known_words)",
        becomes="expected = set(chain.from_iterable(map(letter_words, references)))",
        tests=["tests/analysis/test_findings.py::test_words_that_stay_as_they_are"],
    ),
    Mutant(
        fault="a number that any reference has counts as lost",
        file="seq2seq/analysis/findings.py",
        text="if all(word in each for each in kept)}",
        becomes="if any(word in each for each in kept)}",
        tests=["tests/analysis/test_findings.py::test_a_number_that_one_reference_leaves_out_is_not_lost"],
    ),
    Mutant(
        fault="the first word of a sentence is a name",
        file="seq2seq/analysis/words.py",
        text="        begins = end in _ENDS",
        becomes="        begins = False",
        tests=["tests/analysis/test_findings.py::test_names"],
    ),
    Mutant(
        fault="a sentence without spaces is one word long",
        file="seq2seq/analysis/slices.py",
        text="n_words(sentence.source)",
        becomes="len(sentence.source.split())",
        tests=["tests/analysis/test_slices.py::test_two_characters_are_a_word_where_there_are_no_spaces"],
    ),
    Mutant(
        fault="what a script cannot show counts as not there",
        file="seq2seq/analysis/analyse.py",
        text="if kind not in blind",
        becomes="if True",
        tests=["tests/analysis/test_analyse.py::test_what_the_script_does_not_show_is_left_out_and_told"],
    ),
    Mutant(
        fault="12万 is twelve",
        file="seq2seq/analysis/words.py",
        text="_value(match[0]) if _ZEROS.keys() & match[0] else match[0]",
        becomes="match[0]",
        tests=["tests/analysis/test_findings.py::test_numbers"],
    ),
    Mutant(
        fault="kana that no other text has are letters of a wrong alphabet",
        file="seq2seq/analysis/words.py",
        text="_ALPHABETS.get(name, name)",
        becomes="name",
        tests=["tests/analysis/test_findings.py::test_what_is_one_writing_is_one_alphabet"],
    ),
    Mutant(
        fault="a slice begins one too early",
        file="seq2seq/analysis/slices.py",
        text="place = sum(number > end for end in ends)",
        becomes="place = sum(number >= end for end in ends)",
        tests=["tests/analysis/test_slices.py::test_sentences_are_grouped_by_the_count_of_their_rarest_word"],
    ),
    Mutant(
        fault="only the beginning of a large training text is counted",
        file="seq2seq/analysis/training_text.py",
        text="indices = range(0, len(store), step)",
        becomes="indices = range(0, len(store) // step)",
        tests=[
            "tests/analysis/test_training_text.py"
            "::test_of_a_large_corpus_lines_at_equal_distances_are_counted_and_it_is_said"
        ],
    ),
    Mutant(
        fault="a false answer is left out of the file, as if nobody knew it",
        file="seq2seq/analysis/test_set.py",
        text='if value not in (None, "", {}) or name in _ALWAYS',
        becomes="if value or name in _ALWAYS",
        tests=["tests/analysis/test_test_set.py::test_what_nobody_can_tell_takes_no_room_and_a_zero_is_told"],
    ),
    Mutant(
        fault="an analysis stays although there are new translations",
        file="seq2seq/artifacts/run_directory.py",
        text="        self.analysis_file(test).unlink(missing_ok=True)\n",
        becomes="",
        tests=["tests/analysis/test_analyse.py::test_a_kept_analysis_is_read_and_goes_with_its_translations"],
    ),
    Mutant(
        fault="the tag before a source takes part in the alignment",
        file="seq2seq/training/analysing.py",
        text="weights[:-1, n_tags:-1]",
        becomes="weights[:-1, : len(src_words)]",
        tests=["tests/training/test_analysing.py::test_words_are_aligned_as_the_translator_aligns_them"],
    ),
    Mutant(
        fault="a failure of the analysis ends a run whose scores are not told yet",
        file="seq2seq/training/analysing.py",
        text="    except Exception as error:",
        becomes="    except ValueError as error:",
        tests=["tests/faults/test_full_disks_of_runs.py::test_a_run_that_meets_full_disks_ends_as_one_that_never_did"],
    ),
]
