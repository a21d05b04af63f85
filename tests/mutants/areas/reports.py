"""Faults in pages and pictures: what a reader would be told that is not so, and what could run in a page."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a sentence can end the element that its page keeps data in",
        file="seq2seq/reports/html.py",
        text="text = _json(data).translate(_ESCAPED)",
        becomes="text = _json(data)",
        tests=["tests/reports/test_html.py::test_any_text_comes_back_from_the_page_and_is_no_markup"],
    ),
    Mutant(
        fault="a page lets any program run",
        file="seq2seq/reports/page/page.html",
        text="script-src '$script_hash'",
        becomes="script-src 'unsafe-inline'",
        tests=["tests/reports/test_html.py::test_the_policy_allows_only_the_style_and_the_program_of_the_page"],
    ),
    Mutant(
        fault="a failed page ends a run that is finished",
        file="seq2seq/training/run.py",
        text='    except Exception as error:\n        log.warning("%s was not made',
        becomes='    except ConfigError as error:\n        log.warning("%s was not made',
        tests=["tests/training/test_run.py::test_a_page_that_cannot_be_written_costs_a_warning"],
    ),
    Mutant(
        fault="the winner of a diff is the other run",
        file="seq2seq/reports/diff_page.py",
        text='"better": "B is better", "worse": "A is better"',
        becomes='"better": "A is better", "worse": "B is better"',
        tests=["tests/reports/test_diff_page.py::test_a_lower_ter_is_better"],
    ),
    Mutant(
        fault="a picture of runs that are seeds goes on where one has ended",
        file="seq2seq/reports/learning_curve.py",
        text="first <= step <= last",
        becomes="first <= step",
        tests=["tests/reports/test_learning_curve.py::test_a_mean_is_of_all_seeds"],
    ),
    Mutant(
        fault="a finished run has only the steps that it logged",
        file="seq2seq/reports/cost.py",
        text="steps=selection.step, ",
        becomes="",
        tests=["tests/reports/test_cost.py::test_a_finished_run_has_kept_its_steps_whatever_it_logged"],
    ),
    Mutant(
        fault="a diff compares runs of other sentences",
        file="seq2seq/reports/compare.py",
        text="        if ours != theirs:",
        becomes="        if False:",
        tests=["tests/reports/test_diff_page.py::test_runs_that_cannot_be_compared_are_refused"],
    ),
    Mutant(
        fault="an analysis of older translations is shown beside new scores",
        file="seq2seq/reports/analysed_run.py",
        text="if [sentence.hypothesis for sentence in analysis.sentences] != run.hypotheses(test):",
        becomes="if len(analysis.sentences) != len(run.hypotheses(test)):",
        tests=["tests/reports/test_run_page.py::test_an_analysis_of_other_translations_is_left_out_and_told"],
    ),
    Mutant(
        fault="a thinned curve shows some of its values and not their means",
        file="seq2seq/reports/curves.py",
        text="sum(part) / len(part)",
        becomes="part[0]",
        tests=["tests/reports/test_run_page.py::test_a_long_curve_is_thinned_to_means_and_keeps_its_shape"],
    ),
    Mutant(
        fault="the filters of a page do not know the word that is searched for",
        file="seq2seq/reports/page/sentences.js",
        text='searchable(item).includes((chosen.get("search") ?? "").toLowerCase())',
        becomes='searchable(item).includes(chosen.get("search") ?? "")',
        tests=["tests/reports/test_pages_in_browser.py::test_sentences_are_filtered_and_sorted"],
    ),
    Mutant(
        fault="a word lights up alone",
        file="seq2seq/reports/page/words.js",
        text="new Set([name, ...(partners.get(name) ?? [])])",
        becomes="new Set([name])",
        tests=["tests/reports/test_pages_in_browser.py::test_words_light_up_with_their_partners"],
    ),
]
