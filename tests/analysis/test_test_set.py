"""The form of an analysis as JSON."""

import json

from seq2seq.analysis.test_set import AnalysedSentence, AttentionMap, Slice, TestSetAnalysis

WHOLE = AnalysedSentence(
    number=3,
    source="Un chien court .",
    hypothesis="A dog dog runs .",
    references=["A dog runs .", ""],
    chrf=81.25,
    bleu=40.5,
    domain="captions",
    is_in_train=False,
    rarest_count=0,
    findings={"looping": ["dog"]},
    alignment=[(0, 0), (1, 1), (1, 2)],
)
BARE = AnalysedSentence(number=4, source=None, hypothesis="", references=["Yes ."], chrf=0.0, bleu=0.0)
ANALYSIS = TestSetAnalysis(
    test="news/2014",
    sentences=[WHOLE, BARE],
    slices={"source length": [Slice("1 to 5 words", 2, 30.0, 41.5), Slice("6 to 10 words", 7, 1.0, 2.0, 0.5, 0.25)]},
    findings={"looping": 1, "copied words": 0},
    attention=[AttentionMap(3, "best", ["▁Un", "</s>"], ["▁A", "</s>"], [[0.9, 0.1], [0.25, 0.75]])],
    notes=["Words of every second line were counted."],
)


def test_what_nobody_can_tell_takes_no_room_and_a_zero_is_told() -> None:
    whole, bare = json.loads(json.dumps(ANALYSIS.as_json()))["sentences"]
    assert (whole["rarest_count"], whole["is_in_train"]) == (0, False)
    assert set(bare) == {"number", "source", "hypothesis", "references", "chrf", "bleu"}
