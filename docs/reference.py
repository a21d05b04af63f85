"""The pages of the site that come from the code, and from Markdown outside of docs/: a hook of MkDocs (mkdocs.yml).

Nothing here is written into docs/: MkDocs takes the pages from memory. What a page says of a key, a command, a rule or
a file stands beside it in the code: in a comment, in a row of options, in a docstring.
"""

import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from html import unescape
from importlib import import_module
from pathlib import Path, PurePosixPath
from posixpath import relpath
from types import ModuleType
from typing import Any, get_type_hints

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import seq2seq
from docs.packages import imported_packages, path_of, summary_of
from seq2seq import exit_status
from seq2seq.artifacts import checkpoint, model_directory, provenance, wandb_access
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.artifacts.sweep_directory import SweepDirectory
from seq2seq.commands import FIRST, MORE
from seq2seq.commands.translate import OPTIONS
from seq2seq.config import RunConfig, on_resume, sources
from seq2seq.config.clean import DEFAULT, LANGUAGE, CleanConfig
from seq2seq.config.on_resume import classes, value_of
from seq2seq.corpus import reader, tables, units
from seq2seq.corpus.augmentation import AUGMENTATIONS
from seq2seq.corpus.cleaning import measures
from seq2seq.corpus.cleaning.measures import RULES
from seq2seq.corpus.named import library
from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.dataset import prepare, store
from seq2seq.translation import parts
from seq2seq.translation.forms import document, read, subtitles
from seq2seq.translation.forms import markdown as markdown_form
from seq2seq.translation.options import EngineSettings, Settings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Markdown from elsewhere in the repository, and where the site has it.
ELSEWHERE = {
    ROOT / "README.md": "index.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "CHANGELOG.md": "changelog.md",
    ROOT / "benchmarks/README.md": "benchmarks/README.md",
    **{path: path.relative_to(ROOT).as_posix() for path in sorted(ROOT.glob("data/*/README.md"))},
}
_CELL = re.compile(r"(`[^`]*`)|[&<>*_\[\]{}|$]")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!\w+:)([^)\s#]+)(#[^)\s]*)?\)")


# --- the hook ---


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for path, uri in ELSEWHERE.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    for name in PAGES:
        files.append(File.generated(config, f"reference/{name}.md", content=content(name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to Markdown elsewhere lead to its page, and those to code are the text alone: the site has no code.

    A link that leads nowhere stays, and MkDocs reports it.
    """
    folder = Path(page.file.abs_src_path or DOCS / page.file.src_uri).parent

    def rewritten(link: re.Match[str]) -> str:
        label = _LINK.sub(rewritten, link[1])
        there = (folder / link[2]).resolve()
        there = there / "README.md" if (there / "README.md").is_file() else there
        uri = ELSEWHERE.get(there) or (there.relative_to(DOCS).as_posix() if there.is_relative_to(DOCS) else "")
        if found := files.get_file_from_path(uri):
            if label.endswith(".md"):
                label = found.content_string.removeprefix("# ").partition("\n")[0]
            return f"[{label}]({relpath(uri, PurePosixPath(page.file.src_uri).parent)}{link[3] or ''})"
        return label if there.exists() else link[0]

    return _LINK.sub(rewritten, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas in MathML, which browsers draw by themselves."""

    def drawn(formula: re.Match[str]) -> str:
        is_block = formula[1] == "div"
        math: str = convert(unescape(formula[2][2:-2]), display="block" if is_block else "inline")
        return f'<div style="overflow: auto hidden">{math}</div>' if is_block else math

    return re.sub(r'<(span|div) class="arithmatex">(.*?)</\1>', drawn, html, flags=re.S)


def content(name: str) -> str:
    """The Markdown of a page of the reference."""
    return "\n\n".join(PAGES[name]())


# --- Markdown ---


def _cell(text: str) -> str:
    """Plain text, in which code may stand between backticks, as a cell of a table."""
    escaped = _CELL.sub(lambda found: found[1] or f"&#{ord(found[0])};", " ".join(text.split()))
    return escaped.replace("|", "\\|")


def _table(head: str, rows: Iterable[Iterable[str]]) -> str:
    lines = [head, re.sub("[^|]+", "---", head), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def _documented(thing: Any, title: str) -> str:
    """A section with the docstring of a module, a class or a function."""
    return "\n\n".join([f"## {title}", *map(_block, (inspect.getdoc(thing) or "").split("\n\n"))])


def _block(text: str) -> str:
    """A paragraph of a docstring: names in one column and what they are in another become a table."""
    if not re.search(r"\S {2,}\S", text):
        return f"```text\n{text}\n```" if text.startswith(" ") else text
    rows: list[list[str]] = []
    column = 0
    for line in textwrap.dedent(text).splitlines():
        indent = len(line) - len(line.lstrip())
        name, *meaning = re.split(" {2,}", line.strip(), maxsplit=1)
        if not meaning and indent and indent >= column:
            rows[-1][1] += f" {_cell(name)}"  # goes on
        else:
            column = line.rfind(meaning[0]) if meaning else column
            rows.append([f"{'&nbsp;' * (indent // 2)}`{name}`", "".join(map(_cell, meaning))])
    return _table("| name | what it is |", rows)


# --- the pages ---


def keys() -> Iterator[str]:
    """Every key of the configuration, by section, with the presets of the group that sets it."""
    yield "# Configuration keys"
    yield (
        "`python train.py SECTION.KEY=VALUE` sets a key; [configuration.md](../configuration.md) explains the words. "
        "The last column says what may change when a run goes on with `resume=`:"
    )
    yield _block((on_resume.__doc__ or "").split("\n\n")[2])
    yield from _sections(RunConfig, "")
    yield "## Recipes"
    yield _presets("experiment")


def _sections(section: type, prefix: str) -> Iterator[str]:
    marks, comments, nested, rows = classes(RunConfig), comments_of(section), [], []
    for name, default in vars(section()).items():
        if is_dataclass(default):
            nested.append((type(default), f"{prefix}{name}."))
            continue
        key, comment = prefix + name, comments[name]
        choices = _choices(key) if isinstance(default, str) else []
        if not all(choice in comment for choice in choices):
            comment += f"; one of {', '.join(choices)}"
        rows.append([f"`{key}`", f"`{json.dumps(default)}`", _cell(comment), marks[key]])
    yield f"## `{prefix[:-1]}`" if prefix else "## The run"
    yield inspect.getdoc(section) or ""
    yield _table("| key | default | meaning | on resume |", rows)
    yield _presets(prefix[:-1].rpartition(".")[2])
    for each in nested:
        yield from _sections(*each)


def comments_of(section: type) -> dict[str, str]:
    """The comment beside each field of a section, in its source."""
    return dict(re.findall(r"^    (\w+): .*  # (.*)$", inspect.getsource(section), re.M))


def _choices(key: str) -> list[str]:
    """What a key may be, as the message about a wrong value says it; nothing if any text will do."""
    config = RunConfig()
    section, _, name = key.rpartition(".")
    setattr(value_of(config, section) if section else config, name, "?")
    wrong = re.compile(rf"{re.escape(key)}='\?' is not one of ([^;]+)")
    found = map(wrong.match, [*config.problems(), *config.problems_of_training()])
    return next((match[1].split(", ") for match in found if match), [])


def _presets(group: str) -> str:
    """The files of a group in conf/, with the comment that each begins with, as far as that is text."""
    rows = []
    for file in sorted((ROOT / "conf" / group).glob("*.yaml")) if group else ():
        comment = re.match(r"(?:# @.*\n)?((?:# \S.*\n)*)", file.read_text(encoding="utf-8"))
        text = comment[1].replace("\n# ", " ").removeprefix("# ").strip() if comment else ""
        text = text if text.endswith(".") else text.rpartition(". ")[0] + "."  # what introduces an example
        rows.append([f"`{group}={file.stem}`", _cell(text)])
    return _table("| preset | what it is |", rows) if rows else ""


class Described:
    """Stands for the parser of a command, and keeps what the command adds to it."""

    def __init__(self, title: str = "Options") -> None:
        self.title, self.description, self.epilog = title, "", ""
        self.options: list[tuple[tuple[str, ...], dict[str, Any]]] = []
        self.groups = [self]

    def add_argument(self, *names: str, **settings: Any) -> None:
        self.options.append((names, settings))

    def add_argument_group(self, title: str) -> "Described":
        self.groups.append(Described(title.capitalize()))
        return self.groups[-1]


def commands() -> Iterator[str]:
    """Every command with its options."""
    yield "# Commands"
    yield "    python -m seq2seq COMMAND --help"
    yield (
        "An installed package has the same as `seq2seq COMMAND`. In a checkout, `python train.py` and "
        "`python translate.py` are short for the two commands that you need most."
    )
    for name in (*FIRST, *MORE):
        if name == MORE[0]:
            yield "The commands that follow are for special work."
        module = import_module(f"seq2seq.commands.{name}")
        yield f"## `{name}`"
        yield from _command(name, module)
        for subname, submodule in getattr(module, "SUBCOMMANDS", {}).items():
            yield f"### `{name} {subname}`"
            yield from _command(subname, submodule)
    yield _documented(exit_status, "How a command ends")


def _command(name: str, module: ModuleType) -> Iterator[str]:
    first, _, rest = (module.__doc__ or "").partition("\n")
    summary, _, example = first.partition(":  ")
    if hasattr(module, "SUBCOMMANDS"):
        yield f"{summary}."
        return
    parser: Any = Described()
    if hasattr(module, "add_options"):
        module.add_options(parser)
    yield parser.description or f"{summary}. {rest.strip()}"
    yield f"    {example}"
    yield parser.epilog
    is_translate = name == "translate"
    head = "| option | from Python | what it does |" if is_translate else "| option | what it does |"
    for group in parser.groups:
        if group.options:
            yield f"**{group.title}**"
            yield _table(head, (_option(names, settings, is_translate) for names, settings in group.options))


def _option(names: tuple[str, ...], settings: dict[str, Any], is_translate: bool) -> Iterator[str]:
    value = settings.get("metavar") or "/".join(settings.get("choices") or ())
    value = " ".join(value) if isinstance(value, tuple) else value
    value += "..." if value and settings.get("nargs") in ("*", "+") else ""
    flags = ", ".join(name for name in names if name.startswith("-"))
    yield f"`{f'{flags} {value}'.strip()}`"
    if is_translate:
        yield _from_python(settings["dest"])
    text = settings.get("help", "").replace("%%", "%")
    if "default" not in text and (default := settings.get("default")):
        text = "; ".join(filter(None, [text, f"default: {default}"]))
    yield _cell(("required: " if settings.get("required") else "") + text)


def _from_python(name: str) -> str:
    names = [name, f"{name[:-1]}b"] if isinstance(OPTIONS[name].metavar, tuple) else [name]  # max_length_a and _b
    call = "load" if name in get_type_hints(EngineSettings) else "translate" if name in get_type_hints(Settings) else ""
    return f"`{call}({', '.join(f'{each}=' for each in names)})`" if call else ""


def rules() -> Iterator[str]:
    """The rules of `data.clean` and of `corpus clean`."""
    comments = comments_of(CleanConfig)
    defaults = CleanConfig(rules=[DEFAULT, LANGUAGE])  # by its name, it counts also where its package is missing
    yield "# Cleaning rules"
    yield (
        "`data.clean.rules=default` in a run, or `python -m seq2seq corpus clean`, leaves out a pair if what a rule "
        "measures is above its threshold. [cleaning.md](../cleaning.md) says how to choose."
    )
    yield _table(
        "| rule | what is wrong | what is measured | threshold | in `default` |",
        (
            [
                f"`{rule.name}`",
                _cell(rule.reason),
                _cell(comments[rule.name]),
                f"{getattr(defaults, rule.name):g}",
                "yes" if rule.name in defaults.thresholds else "no",
            ]
            for rule in RULES
        ),
    )
    yield _documented(measures, "How rules measure")


def forms() -> Iterator[str]:
    """What text may come in."""
    yield "# Forms of text"
    yield (
        f"Each file may be compressed: {', '.join(f'`{each}`' for each in COMPRESSIONS)}. [data.md](../data.md) is "
        "about corpora, and [translation.md](../translation.md) about text to translate."
    )
    yield _documented(sources, "What a configuration names")
    yield _documented(reader, "Lines")
    yield _documented(tables, "Tables and JSON Lines")
    yield _documented(units, "TMX, XLIFF and PO")
    yield _documented(read, "To translate: lines, tables, JSON Lines")
    yield _documented(document, "To translate: documents")
    yield _documented(markdown_form, "To translate: Markdown")
    yield _documented(subtitles, "To translate: subtitles")


def augmentation() -> Iterator[str]:
    """The kinds of augmentation."""
    yield "# Augmentation"
    yield (
        "`data.augment.KIND=SHARE` is for training text, `{source: SOURCE, augmentation: KIND}` for a test set, "
        "`data.robustness=true` for all test sets with all kinds, and `python -m seq2seq corpus augment` for files. "
        "[robustness.md](../robustness.md) has what each costs and gains."
    )
    rows = ([f"`{name}`", _cell(each.reason)] for name, each in AUGMENTATIONS.items())
    yield _table("| kind | who writes so |", rows)


def files() -> Iterator[str]:
    """What is on disk."""
    yield "# Files"
    yield _documented(RunDirectory, "A run directory")
    yield _documented(SweepDirectory, "A sweep or a search")
    yield _documented(checkpoint, "A checkpoint")
    yield _documented(model_directory, "A model directory")
    yield _documented(provenance, "Where a run comes from")
    yield _documented(prepare, "The cache of prepared text")
    yield _documented(store, "A store in the cache")
    yield _documented(library, "The cache of fetched corpora")
    yield _documented(wandb_access, "Models of W&B")
    yield _documented(parts, "A translation that is being made")


def packages() -> Iterator[str]:
    """What is in `seq2seq/`."""
    yield "# Packages"
    yield (
        "The files and folders in `seq2seq/`. Who imports `corpus/` may import what that imports, too: such imports "
        "are left out here. [architecture.md](../architecture.md) says what flows through them."
    )
    rows = (
        [f"`{path_of(name)}`", _cell(summary_of(name)), _cell(", ".join(sorted(targets)))]
        for name, targets in imported_packages().items()
    )
    yield _table("| file or folder | what it is | imports |", rows)


def api() -> Iterator[str]:
    """What a program may use, which mkdocstrings reads from signatures and docstrings."""
    yield "# Python"
    yield (
        "[python.md](../python.md) shows these at work. The [options of translate](commands.md#translate) have their "
        "names in Python beside them."
    )
    for name, members in {
        "seq2seq": ["train", "load"],
        "seq2seq.translation.translator.Translator": ["translate", "translate_stream", "score", "close"],
        "seq2seq.translation.result.Translation": True,
        "seq2seq.translation.result.TextHypothesis": True,
        "seq2seq.translation.result.Scored": True,
        "seq2seq.training.selection.Outcome": True,
        "seq2seq.evaluation.scores.Interval": True,
        "seq2seq.errors": True,
        "seq2seq.plugins": ["LOSSES", "POSITIONS", "ATTENTIONS"],
        "seq2seq.training.loss.Loss": True,
        "seq2seq.model.variants.scores.Explicit": True,
    }.items():
        yield f"::: {name}\n    options:\n      members: {json.dumps(members)}"
    yield _documented(seq2seq.config, "seq2seq.config")  # mkdocstrings finds the folder of that name


PAGES = {page.__name__: page for page in (keys, commands, rules, forms, augmentation, files, packages, api)}
