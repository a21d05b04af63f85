"""The notebook of the course has the pages as they are, and runs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.learn.course import script

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
    cells = nbformat.reads(build.notebook({"01-one": page}), as_version=4).cells[2:]
    assert [(cell.cell_type, cell.source.split("\n")[0]) for cell in cells] == [
        ("markdown", "# 1. One"),
        ("code", "x = 6"),
        ("code", "print(x)"),
        ("markdown", "More."),
        ("code", "import seq2seq"),  # trains runs/demo
        ("code", "x"),
        ("markdown", "<details><summary>Answer</summary>"),
    ]
    assert [shown(cell) for cell in cells if cell.cell_type == "code"] == ["42", "6\n", "", "6"]
    assert cells[4].metadata.tags == cells[5].metadata.tags == [build.NEEDS_DEMO]
    assert cells[-1].source.endswith("</details>")


def test_without_the_project_the_notebook_says_what_to_do_and_stops(tmp_path: Path) -> None:
    """In an empty folder, with a Python that has torch and not the package."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in ("import sys; sys.modules['seq2seq'] = None", build.START)]
    )
    with pytest.raises(CellExecutionError) as stopped:
        executed(notebook, tmp_path)
    assert stopped.value.evalue == (
        "seq2seq: not installed, and no checkout of the project is in this folder or above it; put one here (git "
        "clone), or run %pip install '/path/to/a/checkout[train]', then run this cell again"
    )


@pytest.mark.parametrize("folder", ["checkout/docs/learn", ""])
def test_the_notebook_finds_a_checkout_above_and_below_and_installs_what_is_missing(
    folder: str, tmp_path: Path
) -> None:
    """pip stands for itself: what it is told to install is written down."""
    page = tmp_path / "checkout/docs/learn/attention.ipynb"
    page.parent.mkdir(parents=True)
    page.touch()
    (tmp_path / "checkout/pip.py").write_text("import sys\nprint(*sys.argv[1:])\n")
    bare = [sys.executable, "-I", "-S", "-c", build.START + "\nprint(os.getcwd(), sys.path[0])"]
    done = subprocess.run(bare, cwd=tmp_path / folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines, checkout = done.stdout.splitlines(), tmp_path / "checkout"
    assert "install --quiet -e .[train]" in lines and lines[-1] == f"{checkout} {checkout}"


@pytest.mark.nightly
def test_the_notebook_runs_anywhere_and_shows_what_the_pages_show(tmp_path: Path) -> None:
    """As Jupyter runs it, with the package installed; without the cells for which a reader has to train the demo."""
    notebook = nbformat.read(build.NOTEBOOK, as_version=4)
    before = [shown(cell) for cell in notebook.cells if cell.cell_type == "code"]
    executed(notebook, tmp_path, skip_cells_with_tag=build.NEEDS_DEMO)
    assert [shown(cell) for cell in notebook.cells if cell.cell_type == "code"] == before


def executed(notebook: Any, folder: Path, **options: Any) -> None:
    resources = {"metadata": {"path": str(folder)}}
    client: Any = NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources, **options)
    client.execute()


def shown(cell: Any) -> str:
    return "".join(
        output.text if output.output_type == "stream" else output.data["text/plain"] for output in cell.outputs
    )
