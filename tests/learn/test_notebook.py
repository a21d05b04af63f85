"""The notebook of the course has the pages as they are, and runs."""

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.learn.course import LEARN, script

build = script("build.py")


def test_the_notebook_is_made_of_the_pages_as_they_are() -> None:
    pages = {page.stem: page.read_text(encoding="utf-8") for page in build.PAGES}
    assert build.NOTEBOOK.read_text(encoding="utf-8") == build.notebook(pages), "run python docs/learn/build.py"


def test_a_cell_ends_where_something_is_shown_and_answers_stay_folded() -> None:
    page = (
        "# 1. One\n\nText.\n\n```pycon\n>>> x = 6\n>>> x * 7\n42\n>>> print(x)\n6\n```\n\nMore.\n\n"
        "```pycon runs/demo\n>>> x\n6\n```\n\n"
        "<details><summary>Answer</summary>\n\n```pycon\n>>> x\n6\n```\n\n</details>\n"
        "\n[Next: two](02-two.md)\n"
    )
    cells = nbformat.reads(build.notebook({"01-one": page}), as_version=4).cells[1:]
    assert [(cell.cell_type, cell.source.split("\n")[0]) for cell in cells] == [
        ("markdown", "# 1. One"),
        ("code", "x = 6"),
        ("code", "print(x)"),
        ("markdown", "More."),
        ("code", "x"),
        ("markdown", "<details><summary>Answer</summary>"),
    ]
    assert [shown(cell) for cell in cells if cell.cell_type == "code"] == ["42", "6\n", "6"]
    assert cells[4].metadata.tags == [build.NEEDS_DEMO]
    assert cells[-1].source.endswith("</details>")


@pytest.mark.nightly
def test_the_notebook_runs_and_shows_what_the_pages_show() -> None:
    """As Jupyter runs it, in its folder; without the cells for which a reader has to train the demo."""
    notebook = nbformat.read(build.NOTEBOOK, as_version=4)
    before = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    client: Any = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(LEARN)}},
        skip_cells_with_tag=build.NEEDS_DEMO,
    )
    client.execute()
    assert [shown(cell) for cell in notebook.cells if cell.cell_type == "code"] == before


def shown(cell: Any) -> str:
    return "".join(
        output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs
    )
