"""Faults in the variants of attention: scores, hard attention, patterns, windows in blocks."""

from tests.mutants.mutant import Mutant

_WHOLE = "tests/model/test_variants.py::test_logits_and_gradients_are_those_of_the_definition"
_SEARCH = "tests/model/test_cache.py::test_a_long_random_search_with_a_variant_of_attention"

MUTANTS = [
    Mutant(
        fault="unscaled scores are divided by the root of the width after all",
        file="seq2seq/model/variants/choice.py",
        text='if config.attention == "scaled" else beta',
        becomes="if config.attention else beta",
        tests=["tests/model/test_scores.py::test_unscaled_scores_make_the_larger_weight_larger", _WHOLE],
    ),
    Mutant(
        fault="scores are multiplied by the temperature",
        file="seq2seq/model/variants/choice.py",
        text="beta = 1 / config.temperature",
        becomes="beta = config.temperature",
        tests=["tests/model/test_scores.py::test_a_temperature_divides_scores_of_every_kind"],
    ),
    Mutant(
        fault="hard attention learns nothing",
        file="seq2seq/model/variants/scores.py",
        text="return chosen + (weights - weights.detach())",
        becomes="return chosen + (weights - weights).detach()",
        tests=["tests/model/test_scores.py::test_hard_weights_have_the_gradient_of_soft_ones", _WHOLE],
    ),
    Mutant(
        fault="hard attention takes the last of several equal scores",
        file="seq2seq/model/variants/scores.py",
        text="scores.argmax(-1, keepdim=True)",
        becomes="scores.size(-1) - 1 - scores.flip(-1).argmax(-1, keepdim=True)",
        tests=["tests/model/test_scores.py::test_hard_attention_takes_one_value_and_the_first_of_equals"],
    ),
    Mutant(
        fault="a window in blocks shows the decoder what follows",
        file="seq2seq/model/variants/blocks.py",
        text="return is_near & (distance >= 0) if is_causal else is_near",
        becomes="return is_near",
        tests=["tests/model/test_patterns.py::test_blocks_equal_full_attention_with_a_mask", _WHOLE],
    ),
    Mutant(
        fault="the first and the last block attend to the zeros beside the sequence",
        file="seq2seq/model/variants/blocks.py",
        text="value=padding)",
        becomes="value=0.0)",
        tests=["tests/model/test_patterns.py::test_blocks_equal_full_attention_with_a_mask", _WHOLE],
    ),
    Mutant(
        fault="long sequences within a window take the time of full attention",
        file="seq2seq/model/variants/self_attention.py",
        text="length > SHORT * block_size(self.pattern.reach)",
        becomes="False",
        tests=["tests/model/test_patterns.py::test_long_sequences_take_blocks_and_short_ones_the_mask"],
    ),
    Mutant(
        fault="the decoder makes a table of all pairs for a window, too",
        file="seq2seq/model/transformer.py",
        text="if self.decoder.pattern is None:",
        becomes="if True:",
        tests=["tests/model/test_patterns.py::test_the_decoder_makes_no_table_of_all_pairs_for_a_window"],
    ),
    Mutant(
        fault="a pattern does not hide the future",
        file="seq2seq/model/variants/patterns.py",
        text="allowed & (distance >= 0) if is_causal else allowed",
        becomes="allowed",
        tests=[_WHOLE],
    ),
    Mutant(
        fault="a step sees one token less than the window",
        file="seq2seq/model/cache.py",
        text="self.pattern.allows(self.n_steps - 1 - self.positions)",
        becomes="self.pattern.allows(self.n_steps - self.positions)",
        tests=["tests/model/test_variants.py::test_decoding_step_by_step_equals_decoding_at_once", _SEARCH],
    ),
    Mutant(
        fault="the cache drops a token that is still within the window",
        file="seq2seq/model/cache.py",
        text="self.n_steps - self.positions <= self.pattern.reach",
        becomes="self.n_steps - self.positions < self.pattern.reach",
        tests=[_SEARCH],
    ),
    Mutant(
        fault="the cache keeps what is out of the window",
        file="seq2seq/model/cache.py",
        text="is_used &= self.n_steps - self.positions <= self.pattern.reach",
        becomes="pass",
        tests=["tests/model/test_cache.py::test_a_step_reads_no_more_than_the_window"],
    ),
    Mutant(
        fault="places of the cache are taken for the positions of other tokens",
        file="seq2seq/model/cache.py",
        text="self.positions = self.positions.gather(1, places)",
        becomes="self.positions = self.positions[:, : places.size(1)].contiguous()",
        tests=[_SEARCH],
    ),
    Mutant(
        fault="--attention hard changes nothing",
        file="seq2seq/artifacts/trained_model.py",
        text='hard_attention=attention == "hard"',
        becomes="hard_attention=sizes.hard_attention",
        tests=["tests/translation/engines/test_load.py::test_attention_is_soft_or_hard"],
    ),
]
