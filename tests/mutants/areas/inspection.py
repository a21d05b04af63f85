"""Faults in what is shown of attention: other words, other weights, other numbers than the model's."""

from tests.mutants.mutant import Mutant

_WEIGHTS = "tests/inspection/test_pair_attention.py"
_PAGE = "tests/inspection/test_attention_page.py"

MUTANTS = [
    Mutant(
        fault="a word looks as its pieces do together, not on average",
        file="seq2seq/inspection/pair_attention.py",
        text="(looking / looking.sum(0)).T",
        becomes="looking.T",
        tests=[f"{_WEIGHTS}::test_a_word_is_looked_at_by_the_sum_of_its_pieces_and_looks_by_their_mean"],
    ),
    Mutant(
        fault="the rows of the decoder are named for what it has read, not for what it writes",
        file="seq2seq/inspection/pair_attention.py",
        text='self.src_tokens if kind == "encoder" else self.tgt_out',
        becomes='self.src_tokens if kind == "encoder" else self.tgt_in',
        tests=[f"{_PAGE}::test_the_weights_of_a_page_are_those_of_the_model_in_thousandths"],
    ),
    Mutant(
        fault="padding stands in the weights of a pair",
        file="seq2seq/inspection/pair_attention.py",
        text="HeadWeights(encoder[:, :, :s, :s]",
        becomes="HeadWeights(encoder",
        tests=[f"{_WEIGHTS}::test_the_weights_are_those_that_the_model_uses"],
    ),
    Mutant(
        fault="the translation is that of a source without its tag",
        file="seq2seq/inspection/pair_attention.py",
        text="engine.decode([Sentence([*tag_ids, *src_ids])]",
        becomes="engine.decode([Sentence(src_ids)]",
        tests=[f"{_WEIGHTS}::test_a_tag_is_a_word_of_its_own"],
    ),
    Mutant(
        fault="a page has other weights than the model",
        file="seq2seq/inspection/attention_page.py",
        text="[thousandths // 64, thousandths % 64]",
        becomes="[thousandths % 64, thousandths // 64]",
        tests=[f"{_PAGE}::test_a_weight_is_kept_to_three_digits_in_two_characters"],
    ),
    Mutant(
        fault="the page joins pieces to words in another way than the archive",
        file="seq2seq/reports/page/attention_weights.js",
        text=" / sizes[q]",
        becomes="",
        tests=[f"{_PAGE}::test_lines_and_matrices_show_the_numbers_of_the_archive"],
    ),
    Mutant(
        fault="a page shows the heads of another layer",
        file="seq2seq/reports/page/attention.js",
        text="Math.min(Math.max(Number(state.layer || view.layers - 1), 1), view.layers) - 1",
        becomes="Math.min(Math.max(Number(state.layer || view.layers - 1), 1), view.layers - 1)",
        tests=[f"{_PAGE}::test_lines_and_matrices_show_the_numbers_of_the_archive"],
    ),
]
