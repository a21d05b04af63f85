"""The page of attention in a browser: what it draws, and that its numbers are those of the archive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2seq.errors import TranslationError
from seq2seq.inspection.attention_file import write_attention
from seq2seq.inspection.attention_page import attention_page, in_thousandths
from seq2seq.inspection.pair_attention import PairAttention
from tests.inspection.pairs import pair
from tests.reports.browsing import chromium, find, open_page, point_at, press, quiet, texts
from tests.reports.test_run_page import data_of

EN_FR = ("en", "fr")
HOSTILE = '▁<script>alert(1)</script> ▁"quo\'ted" ▁</script> ▁שלום ▁👩‍🚀 ▁$& ▁<!-- .\u2028'


def test_a_weight_is_kept_to_three_digits_in_two_characters() -> None:
    assert in_thousandths(np.array([[0, 1], [0.0634, 0.0636]], dtype=np.float32)) == "AAPoA/BA".replace("/", "-")


def test_the_weights_of_a_page_are_those_of_the_model_in_thousandths() -> None:
    shown = pair()
    (sentence,) = data_of(attention_page([shown], "demo", EN_FR))["sentences"]
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"
    for kind, weights in shown.weights._asdict().items():
        view = sentence["views"][kind]
        places = [digits.index(character) for character in view["weights"]]
        found = np.array(places).reshape(-1, 2) @ [64, 1] / 1000
        np.testing.assert_allclose(found.reshape(weights.shape), weights, atol=0.000501)
        assert (view["layers"], view["heads"]) == weights.shape[:2]
    assert sentence["views"]["decoder"]["keys"]["words"] == ["<s>", "Le", "chien", "dort."]
    assert sentence["views"]["decoder"]["queries"]["words"] == ["Le", "chien", "dort.", "</s>"]


def test_a_page_stays_small_and_has_a_limit() -> None:
    long = " ".join(f"▁word{i}" for i in range(19))
    one, two = (attention_page([pair(long, long, layers=(6, 6), heads=8)] * n, "m", EN_FR) for n in (1, 2))
    assert len(two) - len(one) < 125_000  # 3 kinds of 6 x 8 matrices of 20 x 20, two characters each
    many = [pair(long, long, layers=(6, 6), heads=8)] * 348  # of 57,600 weights each
    with pytest.raises(TranslationError, match=r"up to 20,000,000 weights, and .* have 20,044,800; .* weights\.npz"):
        attention_page(many, "m", EN_FR)


# --- in a browser ---


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def opened(browser: Any, folder: Path, *pairs: PairAttention) -> tuple[Path, Any]:
    """A page in the browser, and the archive of the same pairs."""
    file = folder / "page.html"
    file.write_text(attention_page(pairs, "demo", EN_FR))
    write_attention(pairs, folder / "weights.npz")
    open_page(browser, file)
    return file, np.load(folder / "weights.npz")


def choose(browser: Any, name: str, value: str) -> None:
    """As a click on a pill, or a choice from a list."""
    box = f"document.querySelector('[name={name}][value=\"{value}\"]')"
    listed = f"document.querySelector('select[name={name}]')"
    browser.execute_script(
        f"const box = {box}; if (box) {{ box.click(); return; }} const list = {listed}; list.value = '{value}'; "
        "list.dispatchEvent(new Event('change', {bubbles: true}))"
    )


def marks(browser: Any, selector: str) -> dict[tuple[str, int, int], float]:
    """The weights of what is drawn, by head, row and column."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(({dataset: d}) => [d.head, d.from, d.to, d.weight])"
    )
    found = browser.execute_script(script, selector)
    return {(head, int(row), int(column)): float(weight) for head, row, column, weight in found}


def joined(archive: Any, kind: str, looking: str, looked_at: str) -> Any:
    """The weights of the archive between words, by a plain loop."""
    weights = archive[f"1/{kind}"]
    rows, columns = archive[f"1/{looking}_word_of"], archive[f"1/{looked_at}_word_of"]
    found = np.zeros((*weights.shape[:2], rows.max() + 1, columns.max() + 1))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            found[:, :, row, column] += weights[:, :, i, j] / (rows == row).sum()
    return found


def assert_marks_are(found: dict[tuple[str, int, int], float], weights: Any, least: float, head: str) -> None:
    """Each weight above the least one is drawn, with its number."""
    drawn = {(row, column): weight for (name, row, column), weight in found.items() if name == head}
    assert drawn and all(abs(weights[place] - weight) < 0.003 for place, weight in drawn.items())
    large = {(int(i), int(j)) for i, j in np.argwhere(weights > least + 0.002)}
    assert large <= set(drawn)


def test_lines_and_matrices_show_the_numbers_of_the_archive(browser: Any, tmp_path: Path) -> None:
    file, archive = opened(browser, tmp_path, pair())
    cross = joined(archive, "cross", "written", "source")
    # First the mean of the heads of the last layer but one, between words.
    assert_marks_are(marks(browser, ".lines line"), cross[0].mean(0), 0.04, "mean of the heads")
    choose(browser, "layer", "2")
    choose(browser, "heads", "mean")
    choose(browser, "heads", "1")
    choose(browser, "heads", "3")
    for head in (0, 2):
        assert_marks_are(marks(browser, ".lines line"), cross[1, head], 0.04, f"head {head + 1}")
    assert {name for name, _, _ in marks(browser, ".lines line")} == {"head 1", "head 3"}
    choose(browser, "form", "matrix")
    choose(browser, "unit", "pieces")
    assert texts(browser, ".matrix > p") == ["head 1", "head 3"]
    for head in (0, 2):
        assert_marks_are(
            marks(browser, ".matrix rect[data-from]"), archive["1/cross"][1, head], 0.005, f"head {head + 1}"
        )
    choose(browser, "kind", "decoder")
    found = marks(browser, ".matrix rect[data-from]")
    assert_marks_are(found, archive["1/decoder"][1, 2], 0.005, "head 3")
    assert all(column <= row for _, row, column in found)
    choose(browser, "kind", "encoder")
    choose(browser, "layer", "3")
    choose(browser, "unit", "words")
    encoder = joined(archive, "encoder", "source", "source")
    assert_marks_are(marks(browser, ".matrix rect[data-from]"), encoder[2, 0], 0.005, "head 1")
    quiet(browser, file)


def test_a_word_shows_where_it_looks_in_both_sentences(browser: Any, tmp_path: Path) -> None:
    first = pair("▁The ▁do g ▁and ▁the ▁cat", seed=2)
    file, archive = opened(browser, tmp_path, first, pair("▁A ▁the ▁cat ▁The ▁do g", seed=3))
    assert [each.get_attribute("data-sentence") for each in find(browser, ".panel")] == ["1", "2"]  # two: side by side
    choose(browser, "kind", "encoder")
    choose(browser, "heads", "mean")
    choose(browser, "heads", "2")
    (dog,) = find(browser, "[data-sentence='1'] .token[data-q='1']")
    point_at(browser, dog)
    assert texts(browser, ".token.lit text") == ["dog", "dog"]
    assert {row for _, row, _ in marks(browser, "[data-sentence='1'] .lines line")} == {1}
    assert {row for _, row, _ in marks(browser, "[data-sentence='2'] .lines line")} == {4}
    weights = joined(archive, "encoder", "source", "source")[0, 1, 1]
    words = archive["1/source_words"]
    (reading, _) = texts(browser, ".reading")
    assert "“dog” looks at" in reading and f"head 2: {words[weights.argmax()]} {weights.max():.2f}" in reading
    # A word stays when it was clicked, until it is clicked again.
    dog.click()
    point_at(browser, find(browser, "h1")[0])
    assert texts(browser, ".token.lit text") == ["dog", "dog"]
    press(browser, "[data-sentence='1'] svg", "\ue00c")  # Escape
    assert texts(browser, ".token.lit text") == []
    (cat,) = find(browser, "[data-sentence='1'] .token[data-k='4']")
    point_at(browser, cat)
    assert "“cat” is looked at by" in texts(browser, ".reading")[0]
    assert {column for _, _, column in marks(browser, "[data-sentence='1'] .lines line")} == {4}
    assert {column for _, _, column in marks(browser, "[data-sentence='2'] .lines line")} == {2}
    choose(browser, "second", "")
    assert len(find(browser, ".panel")) == 1
    quiet(browser, file)


def test_the_keyboard_goes_everywhere(browser: Any, tmp_path: Path) -> None:
    file, _ = opened(browser, tmp_path, pair())
    down, up, left, right, space = "\ue015", "\ue013", "\ue012", "\ue014", " "
    press(browser, ".panel svg", down, down)
    assert texts(browser, ".token.lit text") == ["chien"]
    press(browser, ".panel svg", up, up)
    assert texts(browser, ".token.lit text") == ["</s>"]
    press(browser, ".panel svg", right, up)
    assert "“dog” is looked at by" not in texts(browser, ".reading")[0]
    assert texts(browser, ".token.lit text") == ["sleeps."]
    press(browser, ".panel svg", left)
    assert texts(browser, ".token.lit text") == ["dort."]
    press(browser, "[name=kind][value=cross]", left)  # as radio buttons do
    assert find(browser, "[name=kind][value=decoder]")[0].is_selected()
    assert browser.switch_to.active_element.get_attribute("value") == "decoder"  # and keeps the focus
    press(browser, "[name=heads][value='2']", space)
    assert {name for name, _, _ in marks(browser, ".lines line")} == {"mean of the heads", "head 2"}
    choose(browser, "form", "matrix")
    press(browser, ".matrix svg", right, right, down)
    assert browser.execute_script("return document.querySelector('.frame').getAttribute('visibility')") == "visible"
    assert texts(browser, ".matrix text.lit")[:2] == ["chien", "Le"]
    quiet(browser, file)


def test_all_heads_stand_side_by_side_and_one_opens_large(browser: Any, tmp_path: Path) -> None:
    file, _ = opened(browser, tmp_path, pair(layers=(3, 2), heads=4))
    choose(browser, "kind", "encoder")
    choose(browser, "form", "heads")
    buttons = find(browser, ".overview button")
    assert len(buttons) == 12
    dark = "const c = arguments[0].firstChild; return c.getContext('2d').getImageData(0, 0, c.width, c.height).data"
    alpha = np.array(browser.execute_script(f"{dark}.filter((_, i) => i % 4 == 3)", buttons[6]))
    expected = pair().view("encoder").in_words()[1, 2].ravel()
    np.testing.assert_allclose(alpha / 255, expected, atol=0.01)
    press(browser, "[aria-label='layer 2, head 3']", "\ue007")
    assert {name for name, _, _ in marks(browser, ".lines line")} == {"head 3"}
    assert "kind=encoder&layer=2&heads=3" in browser.current_url
    browser.refresh()  # the address has what is shown
    assert {name for name, _, _ in marks(browser, ".lines line")} == {"head 3"}
    browser.get(f"{file.as_uri()}#kind=none&layer=99&heads=77,x&form=&unit=1&first=9&second=-1")
    browser.refresh()
    assert len(find(browser, ".panel")) == 1 and texts(browser, ".reading")
    assert browser.get_log("browser") == []


def test_hostile_text_stays_text(browser: Any, tmp_path: Path) -> None:
    file, archive = opened(browser, tmp_path, pair(HOSTILE, HOSTILE, notes=("<b>note</b>",)))
    for unit in ("words", "pieces"):
        choose(browser, "unit", unit)
        for form in ("lines", "matrix", "heads"):
            choose(browser, "form", form)
        choose(browser, "form", "lines")
        point_at(browser, find(browser, ".token[data-q='0']")[0])
    titles = browser.execute_script("return [...document.querySelectorAll('.token title')].map((t) => t.textContent)")
    assert titles[: len(archive["1/written_pieces"])] == list(archive["1/written_pieces"])
    assert find(browser, "main script, main b:not(.x)") == [] and "<b>note</b>" in texts(browser, ".note")
    quiet(browser, file)


@pytest.mark.parametrize(("word", "room"), [("abcde", 50), ("안녕하세요", 74), ("日本語です", 74), ("한" * 20, 184.4)])
def test_labels_of_wide_letters_have_more_room(browser: Any, tmp_path: Path, word: str, room: int) -> None:
    file, _ = opened(browser, tmp_path, pair(f"▁{word}", f"▁{word}"))
    choose(browser, "form", "matrix")
    (ground,) = find(browser, ".matrix .ground")
    assert [float(ground.get_attribute(side)) for side in "xy"] == pytest.approx([room, room])
    quiet(browser, file)


def test_a_narrow_screen_needs_no_scrolling_sideways(browser: Any, tmp_path: Path) -> None:
    browser.set_window_size(500, 900)
    try:
        inner = browser.execute_script("return innerWidth")
        browser.set_window_size(500 + 360 - inner, 900)
        file, _ = opened(browser, tmp_path, pair(" ".join(f"▁word{i}" for i in range(40))), pair())
        for form in ("lines", "matrix", "heads"):
            choose(browser, "form", form)
            over = browser.execute_script("return document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, form
        quiet(browser, file)
    finally:
        browser.set_window_size(1280, 1000)
