"""The scripts of `examples/`, as somebody starts them."""

import re
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.training.tiny_runs import command

SCRIPT = ROOT / "examples/classify.py"


def labelled(file: Path, first: int, n: int) -> Path:
    """Texts whose label is the vowel that they have most of."""
    lines = []
    for i in range(first, first + n):
        vowel, other = ("a", "o") if i % 3 else ("o", "a")
        words = [f"b{vowel}", f"d{vowel}f{vowel}", f"l{other}", f"t{vowel}"]
        lines.append(" ".join(words[(i * 7 + k * 3) % 4] for k in range(3 + i % 4)) + f"\t{vowel}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [
        str(labelled(tmp_path / f"{name}.tsv", first, n))
        for name, first, n in (("train", 0, 300), ("valid", 300, 40), ("test", 340, 60))
    ]


@pytest.mark.parametrize("encoder", ["fresh", "frozen", "tuned"])
def test_a_classifier_learns_labels_and_gives_them_to_other_texts(
    trained_run: Path, tmp_path: Path, files: list[str], encoder: str
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("da fa ba\n\nbo dofo lo\n", encoding="utf-8")
    done = command(
        str(trained_run), *files, "--encoder", encoder, "--epochs", "25", "--predict", str(texts), script=SCRIPT
    )
    assert done.returncode == 0, done.stderr
    found = re.search(
        r"^test: accuracy (\S+)\n +a +o\n +a +(\d+) +(\d+)\n +o +(\d+) +(\d+)$", done.stderr, re.MULTILINE
    )
    assert found, done.stderr
    counts = [int(found[k]) for k in range(2, 6)]
    assert sum(counts) == 60 and counts[0] + counts[1] == 40
    assert float(found[1]) == pytest.approx((counts[0] + counts[3]) / 60, abs=0.001)
    assert float(found[1]) > 0.9
    assert done.stdout.splitlines() == ["a", "", "o"]


@pytest.mark.parametrize(
    ("number", "text", "told"),
    [
        (0, "ba do\ta\nba do a\n", "train.tsv, line 2: has no text, tab and label"),
        (1, "ba do\ta\nba do\t \n", "valid.tsv, line 2: has no text, tab and label"),
        (2, "ba do\te\n", "test.tsv, line 1: training has no label 'e'"),
        (2, "", "test.tsv: is empty"),
    ],
    ids=["no-tab", "no-label", "unknown-label", "empty"],
)
def test_what_is_wrong_with_a_file_is_one_sentence(
    trained_run: Path, files: list[str], number: int, text: str, told: str
) -> None:
    Path(files[number]).write_text(text, encoding="utf-8")
    done = command(str(trained_run), *files, script=SCRIPT)
    assert done.returncode == 2
    assert told in done.stderr and len(done.stderr.splitlines()) == 1
