"""The options of the command that translates: each one is tested, mistakes in them are refused."""

import dataclasses
import re
from pathlib import Path

import pytest

from seq2seq.commands import translate
from seq2seq.config import DecodingConfig
from seq2seq.options import Parser, flag
from tests.translating import TEXT, Cli, run_cli

# Each option, and a test in this folder that fails if it does nothing. First comes the test, then the line here.
OPTIONS = {
    "--help": "test_help_shows_twenty_options_and_help_all_the_rest",
    "--help-all": "test_help_shows_twenty_options_and_help_all_the_rest",
    "--model": "test_several_models_are_an_ensemble",
    "--attention": "test_heads_of_a_soft_model_can_choose_hard",
    "--quiet": "test_the_report_counts_lines_and_kinds_of_warnings",
    "--input": "test_files_are_plain_or_compressed_by_their_names",
    "--form": "test_the_form_of_the_input_can_be_given",
    "--document": "test_a_document_stays_a_document",
    "--field": "test_one_field_is_translated",
    "--output": "test_files_are_plain_or_compressed_by_their_names",
    "--errors": "test_text_that_is_not_utf_8_is_refused_or_replaced",
    "--shard": "test_the_shares_are_joined_to_what_one_process_writes",
    "--split": "test_lines_of_several_sentences_are_split_as_asked_for",
    "--normalize": "test_headlines_and_emoji_are_normalized_as_asked_for",
    "--buffer": "test_a_program_gets_an_answer_to_each_line",
    "--weights": "test_the_models_of_an_ensemble_have_weights",
    "--mbr": "test_the_translation_can_be_chosen_by_consensus",
    "--prefix": "test_each_translation_begins_with_its_prefix",
    "--keep": "test_things_come_through_unchanged",
    "--keep-pattern": "test_what_fits_a_pattern_comes_through",
    "--terms": "test_terms_are_translated_as_the_glossary_says",
    "--tag": "test_a_tag_says_what_kind_of_text_it_is",
    "--json": "test_json_has_all_there_is_to_say",
    "--n-best": "test_n_best_lists_are_tables",
    "--nbest": "test_n_best_lists_are_tables",
    "--token-scores": "test_token_scores_sum_to_the_log_probability",
    "--alignment": "test_alignments_are_in_the_format_of_pharaoh",
    "--typography": "test_french_typography_is_restored",
    "--reference": "test_several_files_of_references_are_scored_against",
    "--compare": "test_another_translation_is_compared",
    "--tokenize": "test_bleu_has_the_tokens_that_are_asked_for",
    "--score": "test_own_translations_get_their_own_scores",
    "--beam-size": "test_settings_of_the_search_reach_it",
    "--length-normalization": "test_settings_of_the_search_reach_it",
    "--alpha": "test_settings_of_the_search_reach_it",
    "--patience": "test_patience_reaches_ctranslate2",
    "--max-length": "test_settings_of_the_search_reach_it",
    "--min-length": "test_settings_of_the_search_reach_it",
    "--no-repeat-ngram": "test_settings_of_the_search_reach_it",
    "--repetition-penalty": "test_settings_of_the_search_reach_it",
    "--sample": "test_settings_of_the_search_reach_it",
    "--temperature": "test_settings_of_the_search_reach_it",
    "--top-k": "test_settings_of_the_search_reach_it",
    "--top-p": "test_settings_of_the_search_reach_it",
    "--seed": "test_settings_of_the_search_reach_it",
    "--engine": "test_ctranslate2_writes_what_torch_writes",
    "--max-batch-tokens": "test_the_machine_s_options_reach_the_engine",
    "--device": "test_the_machine_s_options_reach_the_engine",
    "--precision": "test_the_machine_s_options_reach_the_engine",
    "--threads": "test_the_machine_s_options_reach_the_engine",
    "--workers": "test_one_worker_and_two_write_the_same",
}


def test_every_option_has_a_test() -> None:
    parser = Parser()
    translate.add_options(parser)
    actions = parser._actions
    found = {option for action in actions for option in action.option_strings if option.startswith("--")}
    assert found == set(OPTIONS)
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_translate*.py"))
    assert set(OPTIONS.values()) <= set(re.findall(r"^def (test_\w+)", tests, re.MULTILINE))
    assert not [option.help for option in translate.OPTIONS.values() if len(option.help) < 10]


# --- options that are refused ---


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--beam-size", ["0", "-1", "1.5", "x", ""]),
        ("--n-best", ["0", "x"]),
        ("--alpha", ["-1", "nan", "inf"]),
        ("--no-repeat-ngram", ["-1", "1.5"]),
        ("--repetition-penalty", ["0", "-1", "nan", "inf"]),
        ("--temperature", ["0", "nan"]),
        ("--top-k", ["0"]),
        ("--top-p", ["0", "1.1", "nan"]),
        ("--seed", ["-1", "1.5"]),
        ("--max-batch-tokens", ["0"]),
        ("--threads", ["0"]),
        ("--workers", ["0"]),
        ("--split", ["sometimes"]),
        ("--buffer", ["-1", "nan"]),
        ("--weights", ["0", "x"]),
        ("--mbr", ["0", "chrf"]),
        ("--engine", ["steam"]),
        ("--attention", ["firm"]),
        ("--errors", ["ignore"]),
        ("--typography", ["de"]),
        ("--length-normalization", ["sqrt"]),
    ],
)
def test_values_that_cannot_work_are_refused(option: str, values: list[str]) -> None:
    for value in values:
        status, _, err = run_cli("--model", "no model", f"{option}={value}")
        assert status == 2
        assert re.search(rf"argument {option}[a-z/-]*: invalid", err), err


@pytest.mark.parametrize("option", ["--max-length", "--min-length"])
@pytest.mark.parametrize("values", [("1",), ("1", "x"), ("nan", "1"), ("1", "2", "3")])
def test_lengths_are_two_numbers(option: str, values: tuple[str, ...]) -> None:
    assert run_cli("--model", "no model", option, *values)[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compare", "FILE"), "--compare needs --reference"),
        (("--token-scores",), "--token-scores needs --json"),
        (("--temperature", "0.5"), "--temperature needs --sample"),
        (("--top-k", "5"), "--top-k needs --sample"),
        (("--top-p", "0.5"), "--top-p needs --sample"),
        (("--seed", "0"), "--seed needs --sample"),
        (("--score", "FILE", "--alignment"), "--alignment has no meaning with --score, which translates nothing"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options: tuple[str, ...], message: str) -> None:
    assert run_cli("--model", "no model", *options) == (2, "", f"error: {message}\n")


def test_a_list_longer_than_the_beam_is_refused(cli: Cli) -> None:
    message = cli.refusal("--n-best", "4")  # the checkpoint's beam is 3
    assert message == "error: --n-best=4 is above --beam-size=3; widen the beam\n"
    assert len(cli.lines(TEXT, "--n-best", 4, "--beam-size", 8)) == 16
    assert len(cli.lines(TEXT, "--n-best", 4, "--mbr", 8)) == 16  # which widens it


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--max-length", 1.5, 0), "--max-length A B with B=0 is below 1, the smallest value that works"),
        (("--sample", "--alignment", "--max-length", 1, 0), "--max-length A B with B=0 is below 1"),
        (("--precision", "int3"), "--precision='int3' is not one of auto, float32, bfloat16"),
    ],
)
def test_errors_name_options_and_not_configuration_keys(cli: Cli, options: tuple[object, ...], message: str) -> None:
    error = cli.refusal(*options, stdin=TEXT)
    assert message in error
    assert "decoding." not in error


def test_every_setting_of_the_search_has_an_option_in_messages() -> None:
    names = [field.name for field in dataclasses.fields(DecodingConfig)]
    for name in names:
        message = translate.in_options(f"decoding.{name}=0 is below 1")
        option = re.match(r"--[a-z-]+", message)
        assert option and option[0] in OPTIONS
    assert translate.in_options("a forced prefix with decoding.beam_size=5: no") == (
        "a forced prefix with --beam-size=5: no"
    )
    assert translate.in_options("decoding.sampling=true draws") == "--sample draws"
    assert translate.in_options("trainer.precision=bf16 and x_seed=1") == "trainer.precision=bf16 and x_seed=1"


def test_a_rule_of_the_model_can_be_switched_off(tmp_path: Path, random_run: Path) -> None:
    from tests.translating import model_content, write_run

    model = model_content()
    model.config["decoding"]["no_repeat_ngram"] = 1
    strict = Cli(write_run(tmp_path, model))
    free = Cli(random_run).lines(TEXT)
    assert strict.lines(TEXT) == Cli(random_run).lines(TEXT, "--no-repeat-ngram", 1) != free
    assert strict.lines(TEXT, "--no-repeat-ngram", 0) == free


def test_help_shows_twenty_options_and_help_all_the_rest() -> None:
    common = [flag(translate.OPTIONS, name) for name, option in translate.OPTIONS.items() if option.is_common]
    assert len(common) <= 20
    (status, brief, _), (full_status, full, _) = (run_cli(option) for option in ("--help", "--help-all"))
    assert status == full_status == 0
    named = [set(re.findall(r"(?<![\w-])--[a-z][\w-]*(?=[ ,\n\]])", text)) for text in (brief, full)]
    assert named[0] >= {*common, "--help-all"} and "--top-p" not in named[0]
    assert named[1] == set(OPTIONS)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "m", "--beem-size", "3"), "there is no option --beem-size; did you mean --beam-size?"),
        (("--model", "m", "--top-pp=0.5"), "there is no option --top-pp; did you mean --top-p?"),
        (("--modle", "m"), "there is no option --modle; did you mean --model?"),
        (("--model", "m", "--xyz", "3"), "there is no option --xyz; see --help"),
    ],
)
def test_a_misspelt_option_is_named_with_the_nearest(words: tuple[str, ...], message: str) -> None:
    status, out, err = run_cli(*words)
    assert (status, out) == (2, "") and err.endswith(f"error: {message}\n")
