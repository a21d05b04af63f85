"""Faults in the course on attention: pages, exercises, the notebook."""

from tests.mutants.mutant import Mutant

_BUILD = "docs/learn/build.py"
_EXERCISES = "docs/learn/exercises"
_PAGES = "tests/learn/test_pages.py"
_NOTEBOOK = "tests/learn/test_notebook.py"

MUTANTS = [
    Mutant(
        fault="a page says another number than its code prints",
        file="docs/learn/02-weights.md",
        text="down to 0.5.",
        becomes="down to 0.4.",
        tests=[f"{_PAGES}::test_each_number_of_the_text_is_in_the_code_of_its_page"],
    ),
    Mutant(
        fault="the code of a page prints another number than stands below it",
        file="docs/learn/06-equation-1.md",
        text="tensor([14., 12.])",
        becomes="tensor([14., 11.])",
        tests=[f"{_PAGES}::test_the_code_of_a_page_prints_what_stands_below_it"],
    ),
    Mutant(
        fault="a page links to a function that is not there",
        file="docs/learn/08-positions.md",
        text="[`sinusoids`]",
        becomes="[`sinusoid`]",
        tests=[f"{_PAGES}::test_a_function_that_a_page_links_to_is_in_that_file"],
    ),
    Mutant(
        fault="a page changes, and the notebook does not",
        file="docs/learn/01-dot-product.md",
        text="has another best friend",
        becomes="has another friend",
        tests=[f"{_NOTEBOOK}::test_the_notebook_is_made_of_the_pages_as_they_are"],
    ),
    Mutant(
        fault="the notebook gives the answers away",
        file=_BUILD,
        text="any(block.start() in answer for answer in answers)",
        becomes="any(block.start() in answer for answer in ())",
        tests=[f"{_NOTEBOOK}::test_a_cell_ends_where_something_is_shown_and_answers_stay_folded"],
    ),
    Mutant(
        fault="the notebook looks for a checkout above its folder only",
        file=_BUILD,
        text='*Path.cwd().parents, *Path.cwd().glob("*/")]',
        becomes="*Path.cwd().parents]",
        tests=[f"{_NOTEBOOK}::test_the_notebook_finds_a_checkout_above_and_below_and_installs_what_is_missing"],
    ),
    Mutant(
        fault="without the project, the notebook goes on to its next cells",
        file=_BUILD,
        text="    raise ModuleNotFoundError(\n",
        becomes="    print(\n",
        tests=[f"{_NOTEBOOK}::test_without_the_project_the_notebook_says_what_to_do_and_stops"],
    ),
    Mutant(
        fault="without runs/demo, its blocks are run all the same",
        file=_BUILD,
        text='if block["needs"] and not has_demo:',
        becomes='if block["needs"] and has_demo:',
        tests=[f"{_PAGES}::test_an_output_that_differs_is_replaced"],
    ),
    Mutant(
        fault="a head that was switched off stays so",
        file=f"{_EXERCISES}/without_one_head.py",
        text="of_head.copy_(kept)",
        becomes="of_head.copy_(0 * kept)",
        tests=["tests/learn/test_exercises.py::test_each_head_is_left_out_and_put_back"],
    ),
    Mutant(
        fault="the temperature of attention stays what it was",
        file=f"{_EXERCISES}/other_temperatures.py",
        text="scaled_dot_product_attention(beta * q, k, v, mask, *rest)",
        becomes="scaled_dot_product_attention(q, k, v, mask, *rest)",
        tests=[
            "tests/learn/test_exercises.py::test_bleu_is_high_at_the_temperature_of_training_and_low_without_any_choice"
        ],
    ),
    Mutant(
        fault="attention is asked about the first word without knowing where words stand",
        file=f"{_EXERCISES}/far_apart.py",
        text="self.layer(x + self.positions(0, n), ",
        becomes="self.layer(x, ",
        tests=[
            "tests/learn/test_exercises.py::test_attention_and_an_lstm_remember_the_first_word_over_a_short_distance"
        ],
    ),
    Mutant(
        fault="the source stays without positions when those of the target are taken away",
        file=f"{_EXERCISES}/without_positions.py",
        text="model.encode, model.step = encode, with_positions(none, step)",
        becomes="model.step = with_positions(none, step)",
        tests=["tests/learn/test_exercises.py::test_positions_are_taken_from_one_side_at_a_time"],
    ),
]
