"""The course says nothing that its code does not: outputs, numbers, names of functions, figures."""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.learn.course import LEARN, script
from tests.places import ROOT

build = script("build.py")
PAGES: list[Path] = build.PAGES
IMAGES = ROOT / "docs/images/learn"
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|\.\d)")
# Numbers that name something: years, pages, parts of papers, the headings of pages, one of several exercises.
NAMES = re.compile(
    r"\b(?:19|20)\d\d\b|\b(?:page|equation|word|row|head|position) \d+|^# .*|(?:^|\*\*)\d\. ", re.M | re.I
)
CODE_LINK = re.compile(r"\[`([\w.]+)`\]\((\.\./\.\./[\w/]+\.py)\)")


def fences(text: str) -> Iterator[str]:
    """The blocks of code and output, also the indented ones."""
    yield from re.findall(r"^```.*?^```$", text, re.M | re.S)
    yield from re.findall(r"^(?: {4}.*\n)+", text, re.M)


def prose(text: str) -> str:
    """A page without code, outputs, and the targets of links."""
    for fence in fences(text):
        text = text.replace(fence, "")
    return re.sub(r"\]\([^)]*\)", "]", text)


def values(text: str) -> list[float]:
    return [
        float(number.replace(",", "")) for number in re.findall(r"\d[\d_,]*(?:\.\d+)?|\.\d+", text.replace("_", ""))
    ]


TRAINS = pytest.param(PAGES[11], marks=pytest.mark.nightly)  # for two seconds


@pytest.mark.slow
@pytest.mark.parametrize("page", [*PAGES[:11], TRAINS, *PAGES[12:]], ids=lambda page: page.stem)
def test_the_code_of_a_page_prints_what_stands_below_it(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = page.read_text(encoding="utf-8")
    assert build.EXAMPLES.search(text)
    assert build.with_outputs(text, has_demo=False) == text, "python docs/learn/build.py writes what it prints now"


def test_each_number_of_the_text_is_in_the_code_of_its_page() -> None:
    """In a block of code, or in what it prints, there rounded or not."""
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = [value for fence in fences(text) for value in values(fence)]
        for number in NUMBER.findall(NAMES.sub("", prose(text))):
            decimals = len(number.partition(".")[2])
            if not any(round(value, decimals) == float(number.replace(",", "")) for value in shown):
                missing.append((page.stem, number))
    assert not missing


def defined(file: Path) -> set[str]:
    """Functions, classes, methods and constants of a module."""
    names = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def test_a_function_that_a_page_links_to_is_in_that_file() -> None:
    for page in PAGES:
        links = CODE_LINK.findall(page.read_text(encoding="utf-8"))
        assert links, page
        assert [name for name, target in links if name not in defined((page.parent / target).resolve())] == [], page


def test_each_page_leads_to_the_next_and_folds_its_answers() -> None:
    contents = (LEARN / "README.md").read_text(encoding="utf-8")
    for page, following in zip(PAGES, [*PAGES[1:], LEARN / "README.md"], strict=True):
        text = page.read_text(encoding="utf-8")
        exercises = text[text.index("\n## Exercise") :]
        assert exercises.count("<details><summary>Answer</summary>\n\n") == exercises.count("</details>\n") >= 1, page
        assert following.name in text.rstrip().splitlines()[-1], page
        assert f"]({page.name})" in contents, page


def test_each_exercise_and_each_figure_is_on_a_page_and_each_has_its_script() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    scripts = {file.name for file in (LEARN / "exercises").glob("*.py")} - {"demo.py"}
    assert set(re.findall(r"^\$ python docs/learn/exercises/(\w+\.py)$", text, re.M)) == scripts
    drawn = {f"{draw.__name__}.svg" for draw in script("figures.py").FIGURES}
    assert set(re.findall(r"\(\.\./images/learn/([\w.-]+)\)", text)) == drawn
    assert {file.name for file in IMAGES.iterdir()} == drawn
    assert all(file.stat().st_size < 150_000 for file in IMAGES.iterdir())


def test_the_output_of_each_exercise_stands_below_its_command() -> None:
    commands = [match for page in PAGES for match in build.COMMAND.finditer(page.read_text(encoding="utf-8"))]
    assert len(commands) > 4
    assert all(match["output"].strip() for match in commands)


def test_a_command_of_a_page_is_run_and_its_output_written() -> None:
    page = "Before\n\n```console\n$ python -c 'print(6 * 7)'\nold\n```\n\nafter\n"
    assert build.with_exercises(page) == page.replace("old", "42")


def test_an_output_that_differs_is_replaced() -> None:
    page = "```pycon\n>>> x = 6\n>>> x * 7\n41\n>>> for i in (1, 2):\n...     print(i)\n```\n"
    expected = "```pycon\n>>> x = 6\n>>> x * 7\n42\n>>> for i in (1, 2):\n...     print(i)\n1\n2\n```\n"
    assert build.with_outputs(page, has_demo=False) == expected
    for_demo = page.replace("pycon", "pycon runs/demo")
    assert build.with_outputs(for_demo, has_demo=False) == for_demo
    assert build.with_outputs(for_demo, has_demo=True) == expected.replace("pycon", "pycon runs/demo")


def test_a_figure_is_drawn_from_a_run(trained_run: Path, tmp_path: Path) -> None:
    figures = script("figures.py")
    figures.masks(figures.Demo(trained_run), tmp_path / "masks.svg")
    words = re.sub(r"<[^>]+>", " ", (tmp_path / "masks.svg").read_text(encoding="utf-8"))
    assert "bos" in words and "decoder layer 1" in words


@pytest.mark.nightly
def test_all_figures_can_be_drawn_from_a_run(trained_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(trained_run, tmp_path / "run"))
    rows = ["step,metric,value,unix_time", "1,train/loss,3.5,0", "1,valid/loss,4.5,0", "1,valid/bleu,12,0"]
    (run / "metrics.csv").write_text("\n".join(rows), encoding="utf-8")
    script("figures.py").draw_all(run, tmp_path / "drawn")
    assert {file.name for file in (tmp_path / "drawn").iterdir()} == {file.name for file in IMAGES.iterdir()}
