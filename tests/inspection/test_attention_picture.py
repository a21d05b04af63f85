"""Pictures of heads for papers."""

import warnings
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import image

from seq2seq.errors import TranslationError
from seq2seq.inspection.attention_picture import Shown, write_picture
from seq2seq.reports import style
from tests.inspection.pairs import pair


def texts(svg: Path) -> list[str]:
    return ["".join(each.itertext()) for each in ET.parse(svg).iter("{http://www.w3.org/2000/svg}text")]


def n_matrices(svg: Path) -> int:
    return len(list(ET.parse(svg).iter("{http://www.w3.org/2000/svg}image")))


@pytest.mark.parametrize(
    ("shown", "n", "titles"),
    [
        (Shown("cross", 2, 3), 1, ["layer 2, head 3"]),
        (Shown("encoder", 3), 6, ["layer 3, head 1", "layer 3, head 6"]),
        (Shown("encoder"), 18, ["layer 1", "layer 3", "head 1", "head 6", "encoder self-attention"]),
        (Shown("decoder", head=2), 2, ["layer 1", "layer 2", "head 2", "decoder self-attention"]),
    ],
)
def test_a_picture_has_a_matrix_for_each_chosen_head(shown: Shown, n: int, titles: list[str], tmp_path: Path) -> None:
    write_picture([pair(heads=6)], shown, tmp_path / "picture.svg")
    assert n_matrices(tmp_path / "picture.svg") == n
    assert set(titles) <= set(texts(tmp_path / "picture.svg"))


def test_rows_and_columns_are_named_by_words_or_pieces(tmp_path: Path) -> None:
    for in_pieces, expected in ((False, ["dort.", "dog"]), (True, ["ort", "▁do"])):
        write_picture([pair()], Shown("cross", 1, 1, in_pieces), tmp_path / "picture.svg")
        found = texts(tmp_path / "picture.svg")
        assert set(expected) <= set(found) and ("▁do" in found) == in_pieces


def test_its_squares_have_the_colour_of_their_weights(tmp_path: Path) -> None:
    shown = pair()
    write_picture([shown], Shown("cross", 2, 3, in_pieces=True), tmp_path / "picture.png")
    picture = image.imread(tmp_path / "picture.png")[..., :3]
    expected = matplotlib.colormaps["Blues"](shown.weights.cross[1, 2])[..., :3]
    for colour in expected.reshape(-1, 3):  # each is somewhere in the picture, as a square of some hundred pixels
        assert (np.abs(picture - colour).max(-1) < 0.01).sum() > 100


def test_a_long_sentence_makes_no_endless_picture(tmp_path: Path) -> None:
    write_picture([pair(" ".join(["▁a"] * 150))], Shown("cross", 1, 1), tmp_path / "picture.png")
    assert image.imread(tmp_path / "picture.png").shape[1] == 20 * 200  # inches, dots


def test_one_head_of_several_sentences_stands_side_by_side(tmp_path: Path) -> None:
    write_picture([pair(), pair("▁a ▁cat")], Shown("encoder", 1, 2), tmp_path / "picture.svg")
    assert n_matrices(tmp_path / "picture.svg") == 2 and {"dog", "cat"} <= set(texts(tmp_path / "picture.svg"))
    for shown in (Shown("encoder", 1), Shown("encoder")):
        with pytest.raises(TranslationError, match=r"there are 2 sentences: name --layer and --head, or give fewer"):
            write_picture([pair(), pair()], shown, tmp_path / "other.svg")


def test_a_layer_or_head_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TranslationError, match=r"--layer 4: encoder self-attention of this model has 3 of them"):
        write_picture([pair()], Shown("encoder", 4), tmp_path / "picture.png")
    with pytest.raises(TranslationError, match=r"--head 5: cross-attention of this model has 4 of them; count from 1"):
        write_picture([pair()], Shown("cross", 1, 5), tmp_path / "picture.png")
    assert not list(tmp_path.iterdir())


def test_any_text_is_drawn_and_the_same_pair_gives_the_same_picture(tmp_path: Path) -> None:
    odd = pair("▁$x^{ ▁日本 ▁<0x0A> ▁</svg> ▁&amp;", "▁\\frac ▁שלום")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("one.svg", "two.svg", "one.pdf", "two.pdf", "one.png"):
            write_picture([odd], Shown("cross", 1, 1), tmp_path / name)
    assert {"$x^{", "</svg>", "&amp;"} <= set(texts(tmp_path / "one.svg"))
    for ending in ("svg", "pdf"):
        assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_boxes_in_place_of_letters_are_said_once_and_an_svg_has_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    style._say_once.cache_clear()
    for name, n_said in (("one.svg", 0), ("one.png", 1), ("two.pdf", 1)):
        write_picture([pair("▁日本", "▁हिन्दी")], Shown("cross", 1, 1), tmp_path / name)
        assert len(caplog.records) == n_said
    assert "the font of pictures lacks letters of this text, and boxes stand for them; choose .svg" in caplog.text
