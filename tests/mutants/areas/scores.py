"""Faults in scores: what is scored, how sure a score is, and what is chosen by it."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a sentence of Chinese is one word for BLEU",
        file="seq2seq/evaluation/scores.py",
        text="if 2 * len(unspaced) <= len(texts):",
        becomes="if True:",
        tests=["tests/evaluation/test_scores.py::test_bleu_has_tokens_that_suit_the_script"],
    ),
    Mutant(
        fault="the language does not decide the tokens of BLEU",
        file="seq2seq/evaluation/scores.py",
        text="tokens = bleu_tokens(language or _written_as(known))",
        becomes="tokens = bleu_tokens(_written_as(known))",
        tests=["tests/evaluation/test_scores.py::test_bleu_has_tokens_of_the_language_whatever_the_script_looks_like"],
    ),
    Mutant(
        fault="validation scores by the script of valid, not by the language of the run",
        file="seq2seq/training/validation.py",
        text="VALID_METRICS, language, tokenize=tokenize)",
        becomes="VALID_METRICS, tokenize=tokenize)",
        tests=["tests/training/test_run.py::test_every_bleu_of_a_run_has_the_tokens_that_were_chosen"],
    ),
    Mutant(
        fault="a comparison scores with other tokens than its runs",
        file="seq2seq/reports/compare.py",
        text="tokenize=runs[0].run.tokenize()",
        becomes='tokenize="auto"',
        tests=["tests/training/test_run.py::test_every_bleu_of_a_run_has_the_tokens_that_were_chosen"],
    ),
    Mutant(
        fault="text without spaces that is split at spaces is scored in silence",
        file="seq2seq/evaluation/scores.py",
        text="if 4 * len(together.split()) < len(split_words(together)):",
        becomes="if False:",
        tests=[
            "tests/evaluation/test_scores.py"
            "::test_text_almost_without_spaces_that_is_split_at_spaces_is_pointed_out_once"
        ],
    ),
    Mutant(
        fault="a wrong seed of sacreBLEU is found after the work",
        file="seq2seq/evaluation/scores.py",
        text="    _seed()\n    if tokenize",
        becomes="    if tokenize",
        tests=["tests/evaluation/test_scores.py::test_a_seed_that_is_none_is_a_sentence"],
    ),
    Mutant(
        fault="TER takes a sentence of Chinese for one word",
        file="seq2seq/evaluation/scores.py",
        text="asian_support=by_characters",
        becomes="asian_support=False",
        tests=["tests/evaluation/test_scores.py::test_edits_of_chinese_and_japanese_are_of_characters"],
    ),
    Mutant(
        fault="a score without case is one with case",
        file="seq2seq/evaluation/scores.py",
        text="tokenize, references=known, lowercase=ignore_case, force=force",
        becomes="tokenize, references=known, force=force",
        tests=["tests/evaluation/test_scores.py::test_scores_without_case_are_those_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="the lists of references are transposed",
        file="seq2seq/evaluation/scores.py",
        text='[list(stream) for stream in zip_longest(*(known or [""] for known in reference_lists))]',
        becomes='[known or [""] for known in reference_lists]',
        tests=["tests/evaluation/test_scores.py::test_score_and_signature_are_those_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="a blank reference counts as one",
        file="seq2seq/evaluation/scores.py",
        text="[text for text in known if text.strip()]",
        becomes="list(known)",
        tests=[
            "tests/evaluation/test_scores.py::test_several_references_are_those_of_sacrebleu_and_blank_ones_are_missing"
        ],
    ),
    Mutant(
        fault="chrF++ has no word bigrams",
        file="seq2seq/evaluation/scores.py",
        text="CHRF(word_order=2,",
        becomes="CHRF(word_order=1,",
        tests=["tests/evaluation/test_scores.py::test_score_and_signature_are_those_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="fewer translations than references are scored in silence",
        file="seq2seq/evaluation/scores.py",
        text="if len(hypotheses) != len(references):",
        becomes="if len(hypotheses) > len(references):",
        tests=["tests/evaluation/test_scores.py::test_different_numbers_of_sentences_are_refused_with_both_numbers"],
    ),
    Mutant(
        fault="a bootstrap draws without replacement",
        file="seq2seq/evaluation/scores.py",
        text="chosen = rng.choice(n, n)",
        becomes="chosen = rng.choice(n, n, replace=False)",
        tests=["tests/evaluation/test_scores.py::test_the_bootstrap_interval_is_that_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="an interval of differences holds 90% of them, not 95%",
        file="seq2seq/evaluation/scores.py",
        text="[2.5, 97.5]",
        becomes="[5, 95]",
        tests=["tests/evaluation/test_scores.py::test_an_interval_of_differences_is_that_of_whole_texts_scored_anew"],
    ),
    Mutant(
        fault="a p-value is one-sided",
        file="seq2seq/evaluation/scores.py",
        text="+ 1) / (len(on_resamples) + 1)",
        becomes="+ 1) / (len(on_resamples) + 1) / 2",
        tests=["tests/evaluation/test_scores.py::test_a_paired_test_is_that_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="a bootstrap test does not look at chance alone",
        file="seq2seq/evaluation/scores.py",
        text="by_chance = abs(on_resamples) - abs(on_resamples).mean()",
        becomes="by_chance = abs(on_resamples)",
        tests=["tests/evaluation/test_scores.py::test_a_paired_test_is_that_of_the_sacrebleu_command"],
    ),
    Mutant(
        fault="systems of a paired test are scored on different resamples",
        file="seq2seq/evaluation/scores.py",
        text="each[chosen].sum(0)).score for each in counts])",
        becomes="each[rng.choice(n, n)].sum(0)).score for each in counts])",
        tests=["tests/evaluation/test_scores.py::test_several_systems_are_tested_as_each_of_them_alone"],
    ),
    Mutant(
        fault="Holm's correction stops correcting after the smallest p-value",
        file="seq2seq/evaluation/holm.py",
        text="highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))",
        becomes="highest = min(1.0, (len(p_values) - rank) * p_values[i])",
        tests=["tests/evaluation/test_holm.py"],
    ),
    Mutant(
        fault="Moses splits tokens that are tokens already",
        file="seq2seq/evaluation/scores.py",
        text="    if is_tokenised(references[0]):\n        tokens,",
        becomes="    if not references:\n        tokens,",
        tests=["tests/evaluation/test_legacy_tokens.py::test_tokens_are_scored_as_they_are_but_for_case"],
    ),
    Mutant(
        fault="BLEU of older papers is smoothed",
        file="seq2seq/evaluation/scores.py",
        text='smooth_method="none"',
        becomes='smooth_method="exp"',
        tests=[
            "tests/evaluation/test_scores.py::test_legacy_bleu_has_no_smoothing_and_no_case_and_splits_as_moses_does"
        ],
    ),
    Mutant(
        fault="BLEU of older papers is cased",
        file="seq2seq/evaluation/legacy_tokens.py",
        text="normalised.lower()",
        becomes="normalised",
        tests=[
            "tests/evaluation/test_legacy_tokens.py::test_punctuation_case_and_tokens_are_those_of_the_perl_scripts"
        ],
    ),
    Mutant(
        fault="a validation looks at the beginning of valid only",
        file="seq2seq/training/validation.py",
        text="return [i * n_all // n for i in range(n)]",
        becomes="return list(range(n))",
        tests=["tests/training/test_run.py::test_validation_scores_what_it_decodes"],
    ),
    Mutant(
        fault="translations of some sentences are compared with the references of others",
        file="seq2seq/training/validation.py",
        text="references = [self.store.references(i) for i in self.decoded]",
        becomes="references = [self.store.references(i) for i in range(len(self.hypotheses))]",
        tests=["tests/training/test_run.py::test_validation_scores_what_it_decodes"],
    ),
    Mutant(
        fault="the weights are chosen by some sentences of valid, not by all",
        file="seq2seq/training/validation.py",
        text="return self._measure(model, 0)",
        becomes="return self._measure(model, self.config.trainer.valid_sentences)",
        tests=["tests/training/test_run.py::test_validation_scores_what_it_decodes"],
    ),
    Mutant(
        fault="the worst weights win",
        file="seq2seq/training/selection.py",
        text="if winner is None or found > winner[0]:",
        becomes="if winner is None or found < winner[0]:",
        tests=["tests/training/test_run.py::test_the_selected_weights_are_the_best_of_the_candidates"],
    ),
    Mutant(
        fault="the last weights are tested, not those that won",
        file="seq2seq/training/selection.py",
        text="_, selected, weights, on_valid = winner\n    model.load_state_dict(weights)",
        becomes="_, selected, weights, on_valid = winner",
        tests=["tests/training/test_run.py::test_the_selected_weights_are_the_best_of_the_candidates"],
    ),
    Mutant(
        fault="the interval on valid is that of the candidate that came last",
        file="seq2seq/training/selection.py",
        text="report(on_valid, known",
        becomes="report(validation.hypotheses, known",
        tests=["tests/training/test_run.py::test_the_selected_weights_are_the_best_of_the_candidates"],
    ),
    Mutant(
        fault="the highest loss is the best one",
        file="seq2seq/training/selection.py",
        text="(-value if monitor in FALLING else value)",
        becomes="value",
        tests=["tests/training/test_milestones.py::test_one_metric_decides_what_is_best_and_what_is_chosen"],
    ),
    Mutant(
        fault="a loss that is not a number is the best one",
        file="seq2seq/training/selection.py",
        text="if math.isnan(value):\n        return -math.inf",
        becomes="if math.isnan(value):\n        return math.inf",
        tests=["tests/training/test_selector.py::test_what_is_not_a_number_is_never_among_the_best"],
    ),
    Mutant(
        fault="runs on different text are taken for seeds of one recipe",
        file="seq2seq/reports/compared_run.py",
        text='settings["corpus"] = _fingerprint(corpus) or place',
        becomes='settings["corpus"] = ""',
        tests=["tests/reports/test_seeds.py::test_runs_on_other_text_are_not_seeds_of_one"],
    ),
    Mutant(
        fault="a run that is listed twice counts as two seeds",
        file="seq2seq/reports/seeds.py",
        text="return _recipe(first) == _recipe(run) and is_new",
        becomes="return _recipe(first) == _recipe(run)",
        tests=["tests/reports/test_seeds.py::test_a_seed_that_comes_twice_is_not_two_samples"],
    ),
    Mutant(
        fault="seeds vary less in a test than they do",
        file="seq2seq/evaluation/over_seeds.py",
        text="max(1, len(runs) - 1)",
        becomes="len(runs)",
        tests=["tests/evaluation/test_over_seeds.py::test_an_interval_is_over_seeds_too"],
    ),
    Mutant(
        fault="another recipe is better as soon as one draw of sentences says so, whatever the seeds",
        file="seq2seq/evaluation/over_seeds.py",
        text="drawn = rng.integers(len(runs), size",
        becomes="drawn = rng.integers(1, size",
        tests=["tests/evaluation/test_over_seeds.py::test_what_seeds_alone_can_make_is_chance"],
    ),
    Mutant(
        fault="half a training counts as a seed",
        file="seq2seq/reports/seeds.py",
        text="if not (run.is_finished and first.is_finished):",
        becomes="if not run.settings:",
        tests=["tests/reports/test_seeds.py::test_a_run_that_is_not_finished_is_no_sample"],
    ),
    Mutant(
        fault="the p-values of several comparisons are not corrected",
        file="seq2seq/reports/compare.py",
        text="else p_holm[number],",
        becomes="else each.p_value,",
        tests=[
            "tests/reports/test_compare.py::test_each_run_is_tested_against_the_first_and_corrected_for_their_number"
        ],
    ),
    Mutant(
        fault="runs that are equal are no comparison of the family",
        file="seq2seq/reports/compare.py",
        text="holm([1.0 if each.p_value is None else each.p_value for each in found[1:]])",
        becomes="holm([0.0 if each.p_value is None else each.p_value for each in found[1:]])",
        tests=[
            "tests/reports/test_compare.py::test_each_run_is_tested_against_the_first_and_corrected_for_their_number"
        ],
    ),
    Mutant(
        fault="a lower TER is worse",
        file="seq2seq/reports/verdict.py",
        text='is_higher_better = metric != "ter"',
        becomes="is_higher_better = True",
        tests=["tests/reports/test_compare.py::test_the_table_says_which_run_is_better"],
    ),
    Mutant(
        fault="validations on some sentences are subtracted from scores on all",
        file="seq2seq/reports/compare.py",
        text="all(run.is_finished and not _differ(",
        becomes="all(not _differ(",
        tests=["tests/reports/test_comparison_forms.py::test_an_unfinished_run_is_shown_with_what_it_has"],
    ),
    Mutant(
        fault="columns that do not fit a terminal are lost",
        file="seq2seq/reports/tables.py",
        text="            yield block\n",
        becomes="            yield block[:-1]\n",
        tests=["tests/reports/test_tables.py"],
    ),
    Mutant(
        fault="a blank reference counts when sentences are scored",
        file="seq2seq/evaluation/sentences.py",
        text='[text for text in known if text.strip()] or [""]',
        becomes="list(known)",
        tests=["tests/evaluation/test_sentences.py"],
    ),
]
