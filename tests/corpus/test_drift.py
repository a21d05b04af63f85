"""Files of which one has lost lines: where they drift apart is known to a few lines, in any script."""

import random
import re
from pathlib import Path

import pytest

from seq2seq.corpus.sources import Source
from tests.corpus.test_tables import refused
from tests.places import SHARED

NEWS = SHARED / "news/newstest2012"

# A language of syllables and one of single signs, without spaces, whose sentences are a quarter as long.
SIGNS = "天地人山水火木金土日月星風雨雪花草鳥魚犬猫馬牛羊門戸手足目耳口心"
SYLLABLES = [consonant + vowel for consonant in "bdfgklmn" for vowel in "aeio"]


def sentences(n: int) -> list[tuple[str, str]]:
    rng = random.Random(4)
    numbers = [rng.choices(range(len(SIGNS)), k=rng.randint(2, 18)) for _ in range(n)]
    pairs = [
        ("".join(SIGNS[i] for i in each) + "。", " ".join(SYLLABLES[i] * 2 for i in each) + ".") for each in numbers
    ]
    return [(f"{i}年{zh}", f"In {i}, {text}") if i % 9 == 0 else (zh, text) for i, (zh, text) in enumerate(pairs)]


def message(folder: Path, src: list[str], tgt: list[str]) -> str:
    files = folder / "a.src", folder / "a.tgt"
    for path, side in zip(files, (src, tgt), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    return refused(Source("lines", files))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("place", "n_lost"), [(0, 1), (100, 1), (700, 3), (1_100, 40)])
def test_the_place_where_lines_are_lost_is_named_with_both_texts(tmp_path, side, place, n_lost):
    sides = [list(each) for each in zip(*sentences(1_500), strict=True)]
    whole = [list(each) for each in sides]
    del sides[side][place : place + n_lost]
    found = re.search(
        r"drift apart near line (\d+) \(in the shorter one '(.*)', in the longer one '(.*)'\)",
        message(tmp_path, *sides),
    )
    assert found is not None
    line = int(found[1])
    assert abs(line - place - 1) <= 3
    assert (found[2], found[3]) == (sides[side][line - 1][:60], whole[1 - side][line - 1][:60])


@pytest.mark.parametrize("n_lost", [1, 500])
def test_files_that_fit_up_to_the_end_of_the_shorter_one_are_said_to(tmp_path, n_lost):
    src, tgt = (list(each) for each in zip(*sentences(1_500), strict=True))
    assert "; line n of one" in message(tmp_path, src, tgt[:-n_lost])
    if n_lost > 1:
        assert ", and they seem to fit up to line 1000; line n of one" in message(tmp_path, src, tgt[:-n_lost])


def test_of_a_few_lines_nothing_is_said(tmp_path):
    assert " has 3 lines but " in message(tmp_path, ["un", "deux", "trois"], ["one", "three"])
    assert "drift" not in message(tmp_path, ["un", "deux", "trois"], ["one", "three"])


@pytest.mark.skipif(not NEWS.with_suffix(".fr").is_file(), reason=f"no corpus in {NEWS.parent}")
@pytest.mark.parametrize(("place", "n_lost"), [(17, 1), (1_500, 2), (2_980, 5)])
def test_the_place_is_found_in_news(tmp_path, place, n_lost):
    src, tgt = (NEWS.with_suffix(f".{each}").read_text(encoding="utf-8").split("\n")[:-1] for each in ("fr", "en"))
    del tgt[place : place + n_lost]
    (line,) = re.findall(r"drift apart near line (\d+)", message(tmp_path, src, tgt))
    assert abs(int(line) - place - 1) <= 3
