from seq2seq.training.trackers import table_of_extremes, table_of_samples
from seq2seq.training.validation import Sample


def test_only_sentences_that_were_scored_before_have_a_change():
    samples = [
        Sample(
            4,
            "news",
            "a",
            "b",
            "c",
            20.0,
        ),
        Sample(8, "talks", "d", "e", "f", 50.25),
    ]
    table = table_of_samples(samples, {8: 60.5, 5: 1.0}, step=30)
    assert [row[0] for row in table.rows] == [30, 30]
    assert [dict(zip(table.columns, row, strict=True)) for row in table.rows] == [
        {"step": 30, "line": 5, "domain": "news", "source": "a", "reference": "b", "translation": "c",
         "chrF": 20.0, "change": None},
        {"step": 30, "line": 9, "domain": "talks", "source": "d", "reference": "e", "translation": "f",
         "chrF": 50.25, "change": -10.25},
    ]  # fmt: skip


def test_few_sentences_are_either_worst_or_best():
    hypotheses = ["A dog.", "no", "A cat", "x", "A cow."]
    references = [["A dog."], ["A hen."], ["A cat."], [" "], ["A mouse.", "A cow."]]
    table = table_of_extremes(["s1", "s2", "s3", "s4", "s5"], references, hypotheses)
    assert [row[:2] for row in table.rows] == [["worst", 2], ["worst", 3], ["best", 1], ["best", 5]]
    assert [row[2] for row in table.rows][2:] == [100, 100]
    assert table.rows[0][3:] == ["s2", "A hen.", "no"]
    assert table_of_extremes([], [], []).rows == []
