"""Run the code of the course, write what it prints into its pages, and make the notebook:  python docs/learn/build.py

The pages are the only source. Their code stands in blocks of two kinds:

    ```pycon             examples as at Python's prompt; each page is one session
    ```pycon runs/demo   the same, for readers who have trained that model: left out where it is not there
    ```console           `$ python docs/learn/exercises/...`, then what it prints; run with --all only

`--check` writes nothing, and fails where a page or the notebook would change.
"""

import argparse
import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
NOTEBOOK = FOLDER / "attention.ipynb"
DEMO = "runs/demo"
EXAMPLES = re.compile(r"^```pycon(?: (?P<needs>\S+))?\n(?P<code>.*?)^```\n", re.M | re.S)
COMMAND = re.compile(r"^```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```\n", re.M)
ANSWER = re.compile(r"^<details>.*?^</details>\n", re.M | re.S)
NEEDS_DEMO = "needs-runs-demo"  # the tag of cells that a test leaves out
_PARSER = doctest.DocTestParser()

TITLE = "Attention, from a dot product to BLEU"
INTRODUCTION = f"""\
# {TITLE}

All pages of the course as one notebook. Run its cells from top to bottom. The first one finds the project and installs
what is missing. A later one trains the small model that some cells look into: five minutes on two cores, once."""
START = """\
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

folders = [Path.cwd(), *Path.cwd().parents, *Path.cwd().glob("*/")]
checkout = next((folder for folder in folders if os.path.isfile(folder / "docs/learn/attention.ipynb")), None)
if checkout:
    os.chdir(checkout)
    sys.path.insert(0, str(checkout))
missing = [name for name in ("seq2seq", "torch", "sacrebleu", "pytorch_lightning") if not find_spec(name)]
if missing and checkout:
    print("installing what the course needs: one to five minutes")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "-e", ".[train]"], check=True)
elif missing:
    raise ModuleNotFoundError(
        f"{', '.join(missing)}: not installed, and no checkout of the project is in this folder or above it; put one "
        "here (git clone), or run %pip install '/path/to/a/checkout[train]', then run this cell again"
    )"""
TRAIN_DEMO = f"""\
import seq2seq

if not os.path.exists("{DEMO}/summary.txt"):
    seq2seq.train(["experiment=demo", "run_dir={DEMO}", "resume=auto", "trainer.devices=1", "logger=csv"])"""


def with_outputs(text: str, *, has_demo: bool) -> str:
    """A page with what its examples print now."""
    session: dict[str, Any] = {"__name__": "__main__"}

    def run(block: re.Match[str]) -> str:
        if block["needs"] and not has_demo:
            return block[0]
        parts = _PARSER.parse(block["code"])
        code = "".join(part if isinstance(part, str) else _prompted(part) + _output(part, session) for part in parts)
        return block[0].replace(block["code"], code)

    return EXAMPLES.sub(run, text)


def with_exercises(text: str) -> str:
    """A page with what the commands in it print now."""

    def run(block: re.Match[str]) -> str:
        words = [sys.executable, *shlex.split(block["command"])[1:]]
        env = os.environ | {"PYTHONPATH": str(ROOT), "WANDB_MODE": "disabled"}
        done = subprocess.run(words, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
        return f"```console\n$ {block['command']}\n{done.stdout}```\n"

    return COMMAND.sub(run, text)


def _prompted(example: doctest.Example) -> str:
    first, *more = example.source.splitlines()
    return f">>> {first}\n" + "".join(f"... {line}".rstrip() + "\n" for line in more)


def _output(example: doctest.Example, session: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example.source, "<page>", "single"), session)
    return printed.getvalue()


# --- the notebook ---


def notebook(pages: dict[str, str]) -> str:
    """All pages as one notebook. Answers stay folded text. Outputs are stored, so that GitHub shows them."""
    import nbformat
    from nbformat import v4

    cells = [v4.new_markdown_cell(INTRODUCTION, id="title"), v4.new_code_cell(START, id="start")]
    for name, text in pages.items():
        for number, cell in enumerate(_cells(_without_navigation(text))):
            cell.id = f"{name}-{number}"
            cells.append(cell)
    if needy := [cell for cell in cells if "tags" in cell.metadata]:
        train = v4.new_code_cell(TRAIN_DEMO, id="demo", metadata=needy[0].metadata)
        cells.insert(cells.index(needy[0]), train)
    language = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python"}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = v4.new_notebook(cells=cells, metadata={"title": TITLE, "kernelspec": kernel, "language_info": language})
    nbformat.validate(content)
    return nbformat.writes(content) + "\n"


def _cells(text: str) -> Iterator[Any]:
    from nbformat import v4

    answers = [range(*answer.span()) for answer in ANSWER.finditer(text)]
    end = 0
    for block in EXAMPLES.finditer(text):
        if any(block.start() in answer for answer in answers):
            continue
        if before := text[end : block.start()].strip():
            yield v4.new_markdown_cell(before)
        yield from _code_cells(block)
        end = block.end()
    if rest := text[end:].strip():
        yield v4.new_markdown_cell(rest)


def _code_cells(block: re.Match[str]) -> Iterator[Any]:
    """A cell ends after an example that shows something."""
    from nbformat import v4

    metadata = {"tags": [NEEDS_DEMO]} if block["needs"] else {}
    examples = _PARSER.get_examples(block["code"])
    source = ""
    for example in examples:
        source += example.source
        if example.want or example is examples[-1]:
            outputs = [_stored(example)] if example.want else []
            yield v4.new_code_cell(source.strip(), metadata=metadata, outputs=outputs)
            source = ""


def _stored(example: doctest.Example) -> Any:
    """As Jupyter stores it: what an expression is worth, or what was printed."""
    from nbformat import v4

    last = ast.parse(example.source).body[-1]
    is_printed = not isinstance(last, ast.Expr) or ast.unparse(last).startswith("print(")
    if is_printed:
        return v4.new_output("stream", name="stdout", text=example.want)
    return v4.new_output("execute_result", data={"text/plain": example.want.rstrip("\n")})


def _without_navigation(text: str) -> str:
    """The last line of a page leads to the next page, which in the notebook follows anyway."""
    return re.sub(r"\n\[Next: .*\]\(.*\)\n$", "\n", text)


# --- all of it ---


def build(change: Callable[[str], str]) -> dict[Path, str]:
    """The content that the pages and the notebook should have."""
    pages = {page: change(page.read_text(encoding="utf-8")) for page in PAGES}
    return {**pages, NOTEBOOK: notebook({page.stem: text for page, text in pages.items()})}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="also run the exercises: three minutes")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something would change")
    args = parser.parse_args()
    os.chdir(ROOT)

    def change(text: str) -> str:
        text = with_outputs(text, has_demo=Path(DEMO).exists() and not args.check)
        return with_exercises(text) if args.all else text

    stale = []
    for path, content in build(change).items():
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            stale.append(path.relative_to(ROOT).as_posix())
            if not args.check:
                path.write_text(content, encoding="utf-8")
    verb = "would change" if args.check else "written"
    print(f"{verb}: {', '.join(stale)}" if stale else "all pages are as their code says")
    sys.exit(1 if stale and args.check else 0)


if __name__ == "__main__":
    main()
