import pytest

from seq2seq.text.health import findings


@pytest.mark.parametrize(
    ("source", "translation", "n_source", "n_target", "kinds"),
    [
        ("Bonjour", " ", 1, 0, ["empty"]),
        ("", "", 0, 0, []),
        ("Il a dit cela.", "He said he said he said he said", 4, 8, ["loop"]),
        ("non non non non", "no no no no", 4, 4, []),
        ("le chat dort ici", "Le chat dort ici.", 4, 4, ["copied"]),
        ("Jean Dupont, Paris 75001", "Jean Dupont, Paris 75001", 4, 4, []),
        ("une phrase", "a", 10, 2, ["short"]),
        ("une phrase", "a", 10, 3, []),
    ],
)
def test_findings(source, translation, n_source, n_target, kinds):
    assert [finding.kind for finding in findings(source, translation, n_source, n_target)] == kinds
