"""The analysis of a run, kept or made of what is there."""

from pathlib import Path

import pytest

from seq2seq.analysis.analyse import analyse, analysed
from seq2seq.analysis.test_set import FINDINGS
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError
from seq2seq.evaluation.scores import Interval
from tests.analysis.test_test_set import ANALYSIS

SOURCES = ["Anna voit Ludmilla et 12 chiens bizarres.", "", "Un chat dort ."]
HYPOTHESES = ["Anna sees 13 bizarres.", "", "A cat cat sleeps ."]
REFERENCES = [
    ("Anna sees Ludmilla and 12 odd dogs.", "She sees Ludmilla and 12 odd dogs."),
    ("", ""),
    ("A cat sleeps .", ""),
]


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    """A run of an older version."""
    run = RunDirectory(tmp_path / "run")
    run.path.mkdir()
    (run.path / "config.yaml").write_text("data: {src_lang: fr, tgt_lang: en}")
    run.write_test("news/2014", "en", HYPOTHESES, REFERENCES)
    return run


def test_translations_and_references_alone_say_something(run: RunDirectory) -> None:
    found = analyse(run, "news/2014")
    assert [each.number for each in found.sentences] == [1, 2, 3]
    assert [each.hypothesis for each in found.sentences] == HYPOTHESES
    assert [tuple(each.references) for each in found.sentences] == REFERENCES
    assert found.findings == {
        "empty": 0, "looping": 0, "too long": 0, "too short": 0, "repeated words": 1, "unknown characters": 0
    }  # fmt: skip
    assert [each.findings for each in found.sentences] == [{}, {}, {"repeated words": ["cat"]}]
    for each in found.sentences:
        assert (each.source, each.is_in_train, each.rarest_count, each.alignment) == (None, None, None, None)
    assert found.slices == {} and found.attention == ()
    (note,) = found.notes
    assert note.startswith("This run kept no analysis, so what needs its sources, its model and")
    assert f"train.py resume={run.path}" in note


def test_with_the_sources_more_is_found(run: RunDirectory) -> None:
    run.write_sources("news/2014", "fr", SOURCES)
    found = analyse(run, "news/2014")
    assert [each.source for each in found.sentences] == SOURCES
    assert found.sentences[0].findings == {
        "lost numbers": ["12"], "invented numbers": ["13"], "lost names": ["Ludmilla"], "copied words": ["bizarres"]
    }  # fmt: skip
    assert "unaligned words" not in found.findings and found.findings["lost names"] == 1
    assert [row.name for row in found.slices["source length"]] == ["0 words", "1 to 5 words", "6 to 10 words"]
    assert found.slices.keys() == {"source length"}
    assert found.notes[0].startswith("This run kept no analysis, so what needs its model and its training text")
    assert found.notes[1:] == ["Translated as in the references: 0 of 1 numbers, 0 of 1 names."]


def test_case_counts_in_slices_as_in_the_scores(run: RunDirectory) -> None:
    run.write_sources("news/2014", "fr", SOURCES)
    run.write_test("news/2014", "en", ["ANNA SEES LUDMILLA AND 12 ODD DOGS.", "", ""], REFERENCES)
    cased = analyse(run, "news/2014").slices["source length"][-1].bleu
    run.write_scores({"news/2014": {"bleu": Interval(1, 1, 1, "nrefs:1|case:lc|")}})
    assert cased < analyse(run, "news/2014").slices["source length"][-1].bleu == 100


def test_sentences_have_scores_of_their_own() -> None:
    found = analysed(
        "news", None, ["A dog runs .", "no", "A dog"], [("A dog runs .",), ("A dog .",), ("A dog barks .", "A dog")]
    )
    assert [each.chrf for each in found.sentences][::2] == [100, 100] == [each.bleu for each in found.sentences][::2]
    assert found.sentences[1].bleu == 0 < found.sentences[1].chrf < 20


def test_what_is_known_of_each_sentence_is_kept() -> None:
    found = analysed(
        "news", SOURCES, HYPOTHESES, REFERENCES, alignments=[[(0, 0)], [], [(2, 3)]], domains=["a", "b", "b"]
    )
    assert [each.alignment for each in found.sentences] == [[(0, 0)], [], [(2, 3)]]
    assert [each.domain for each in found.sentences] == ["a", "b", "b"]
    assert found.sentences[0].findings["unaligned words"] == ["Ludmilla", "chiens", "bizarres."]
    assert found.findings["unaligned words"] == 1


@pytest.mark.parametrize(
    ("source", "hypothesis", "reference", "left_out"),
    [
        ("医生看见面包。", "He sees.", "The doctor sees bread.", ["unaligned words", "lost names"]),
        ("หมอเห็นขนมปัง", "医生。", "医生看见面包。", ["unaligned words", "copied words", "lost names"]),
        ("הרופא רואה לחם.", "He sees.", "The doctor sees bread.", ["lost names"]),
        ("Le médecin voit.", "医生。", "医生看见面包。", []),
    ],
)
def test_what_the_script_does_not_show_is_left_out_and_told(
    source: str, hypothesis: str, reference: str, left_out: list[str]
) -> None:
    found = analysed("news", [source] * 3, [hypothesis] * 3, [(reference,)] * 3, alignments=[[(0, 0)]] * 3)
    assert [kind for kind in FINDINGS if kind not in found.findings] == left_out
    names = " and ".join(left_out)
    assert found.notes == ([f"The script of the text does not show {names}, so these are left out."] if names else [])


def test_what_other_letters_show_is_counted() -> None:
    source = "我和Ludmilla去。"
    found = analysed("news", [source] * 3, ["I go."] * 3, [("I go with Ludmilla.",)] * 3)
    assert found.findings["lost names"] == 3


def test_a_kept_analysis_is_read_and_goes_with_its_translations(run: RunDirectory) -> None:
    run.write_analysis("news/2014", ANALYSIS.as_json())
    assert analyse(run, "news/2014") == ANALYSIS
    assert run.owns(run.path / "analysis/news/2014.json") and run.owns(run.path / "sources/news/2014.fr")
    assert "\n" not in run.analysis_file("news/2014").read_text(encoding="utf-8").rstrip("\n")
    run.write_test("news/2014", "en", HYPOTHESES, REFERENCES)
    assert not run.analysis_file("news/2014").exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"sentences": [{}]}',
        b'{"test": "a", "sentences": [], "slices": {}, "findings": {"empty": "1"}}',
        b"\xff\xfe{",
    ],
    ids=range(7),
)
def test_a_damaged_analysis_is_told(run: RunDirectory, content: bytes) -> None:
    file = run.analysis_file("news/2014")
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    with pytest.raises(RunError) as caught:
        analyse(run, "news/2014")
    assert str(caught.value) == (
        f"{file}: is not an analysis of this version of seq2seq, so it is damaged; restore it, or make it again with: "
        f"python train.py resume={run.path}"
    )


def test_an_unknown_test_set_is_told_with_those_that_there_are(run: RunDirectory) -> None:
    with pytest.raises(RunError, match=r"run was not tested on 'news'; choose from news/2014$"):
        analyse(run, "news")


def test_sources_and_translations_that_do_not_belong_together_are_told(run: RunDirectory) -> None:
    run.write_sources("news/2014", "fr", SOURCES[:2])
    with pytest.raises(RunError, match=r"2014\.fr has 2 lines and .*2014\.en has 3; line n of one must belong"):
        analyse(run, "news/2014")
