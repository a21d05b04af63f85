"""Options on a command line, and arguments from Python. How both are explained and checked.

An option of `translate.py` is a row of a table, which is a class: `top_k: Annotated[int, Option("at most K", "K")]`.
Its flag, `--help`, the keyword from Python, its name in messages and a row on the site come from there.
"""

import argparse
import difflib
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints

from seq2seq.errors import TokenizerError

Item = TypeVar("Item")
Number = TypeVar("Number", int, float)


# --- a table of options ---


@dataclass(frozen=True)
class Option:
    """An option of a command line.

    Attributes:
        metavar: what its value is called, or what each of its values is; of an option without a value, and where there
            are choices, None.
        read: makes a word a value.
        group: the title that it stands under in the help.
        flags: how it is written; none: its name with hyphens.
        is_list: whether it takes any number of words.
        const: the value of an option that takes no word.
        aliases: other flags, and the value that each of them stands for.
        is_common: whether `--help` shows it; `--help-all` shows all.
        needs: the name of the option without which it means nothing.
        is_for_search: whether it says how to translate, and so means nothing if the translations are given.
        is_by_line: whether the input must have one text a line.
    """

    help: str
    metavar: str | tuple[str, ...] | None = None
    read: Callable[[str], Any] = str
    group: str = ""
    flags: Sequence[str] = ()
    choices: Sequence[str] = ()
    is_list: bool = False
    is_required: bool = False
    const: object = True
    aliases: Mapping[str, str] = field(default_factory=dict)
    is_common: bool = False
    needs: str = ""
    is_for_search: bool = False
    is_by_line: bool = False


def table(*classes: type) -> dict[str, Option]:
    """The options of these classes by their names, in order."""
    found: dict[str, Option] = {}
    for each in classes:
        for name, hint in get_type_hints(each, include_extras=True).items():
            if get_origin(hint) is Annotated:
                found[name] = get_args(hint)[1]
    return found


def flag(options: Mapping[str, Option], name: str) -> str:
    """How an option is written on a command line: `--beam-size`."""
    return next(iter(options[name].flags), f"--{name.replace('_', '-')}")


def add_table(parser: argparse.ArgumentParser, options: Mapping[str, Option]) -> None:
    """Add the options to a parser. What is not given is None."""
    groups: dict[str, Any] = {"": parser}
    for name, option in options.items():
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        add = groups[option.group].add_argument
        words: dict[str, Any] = {"action": "store_const", "const": option.const}
        if option.metavar or option.choices:
            n_words = "+" if option.is_list else len(option.metavar) if isinstance(option.metavar, tuple) else None
            words = {"type": option.read, "metavar": option.metavar, "nargs": n_words}
            words |= {"action": "extend"} if option.is_list else {}  # given again, it goes on
            words["choices"] = option.choices or None
        first = flag(options, name)
        actions = [
            add(*(option.flags or (first,)), dest=name, help=option.help, required=option.is_required, **words),
            *(
                add(alias, dest=name, action="store_const", const=value, help=f"the same as {first} {value}")
                for alias, value in option.aliases.items()
            ),
        ]
        if isinstance(parser, Parser) and not option.is_common:
            parser.hide(actions)


class Parser(argparse.ArgumentParser):
    """A parser whose `--help` may leave options to `--help-all`, and which knows what a misspelt one means."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.hidden: dict[argparse.Action, str | None] = {}  # what `--help` leaves out, and its help
        self.words: list[str] = []

    def hide(self, actions: Iterable[argparse.Action]) -> None:
        """Leave options to `--help-all`."""
        if not self.hidden:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show this help with all options, and end")
        for action in actions:
            self.hidden[action], action.help = action.help, argparse.SUPPRESS

    def full_help(self) -> str:
        """What `--help-all` shows."""
        for action, text in self.hidden.items():
            action.help = text
        text = self.format_help()
        for action in self.hidden:
            action.help = argparse.SUPPRESS
        return text

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of `argparse`, but what nobody understands is an error at once, and not only in the end."""
        self.words = [*(sys.argv[1:] if args is None else args)]
        found, rest = super().parse_known_args(args, namespace)
        if rest:
            before = self.words[: self.words.index(rest[0])]
            hint = "; words come before options" if any(word.startswith("--") for word in before) else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """End with the message; if an option is misspelt, with the nearest one instead."""
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        names = [word.partition("=")[0] for word in self.words if word.startswith("--") and word != "--"]
        unknown = [name for name in names if not any(known.startswith(name) for known in flags)]
        if unknown and "arguments" in message:  # unknown ones, or one that is required and misspelt
            message = f"there is no option {unknown[0]}; {_nearest(unknown[0], flags, 'see --help')}"
        super().error(message)


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        assert isinstance(parser, Parser)
        print(parser.full_help(), end="")
        parser.exit()


def _nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"did you mean {close[0]}?" if close else otherwise


# --- arguments from Python ---

_KINDS: dict[Any, tuple[type, str]] = {
    str: (str, "a string"),
    bool: (bool, "True or False"),
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
}


def check_types(
    values: Mapping[str, object], hints: Mapping[str, Any], elsewhere: Iterable[str] = (), owner: str = ""
) -> None:
    """Check arguments against their annotations, of which only strings, numbers and bools count.

    Args:
        elsewhere: arguments of another call, `owner`, which somebody may mean.
    Raises:
        TypeError: there is no such argument, or it is of another type. A bool is no number.
    """
    for name, value in values.items():
        if name not in hints:
            nearest = _nearest(name, [*hints, *elsewhere], f"choose from {', '.join(hints)}")
            of_other = (
                f" It is an argument of {owner}." if any(nearest.endswith(f" {each}?") for each in elsewhere) else ""
            )
            raise TypeError(f"there is no argument {name}; {nearest}{of_other}")
        kind, words = _KINDS.get(hints[name], (object, ""))
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in (Integral, Real)):
            raise TypeError(f"{name}={value!r} is of the type {type(value).__name__}; give {words}")


def listed(values: Iterable[Item], name: str, item: str) -> Iterable[Item]:
    """`values` themselves, if they are many.

    Raises:
        TypeError: they are one string, or nothing that can be iterated over.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        what = "one string" if isinstance(values, str) else f"of the type {type(values).__name__}"
        raise TypeError(f"{name} is {what}; pass a list with {item}")
    return values


def strings(values: Iterable[str], name: str) -> Iterator[str]:
    """The strings of a list, each checked when it is asked for.

    Raises:
        TypeError: at once: see `listed`; later: one is no string.
        TokenizerError: one is not Unicode.
    """
    return _strings(listed(values, name, "a string for each line"), name)


def _strings(values: Iterable[str], name: str) -> Iterator[str]:
    for number, value in enumerate(values):
        check_string(value, f"{name}[{number}]")
        yield value


def check_string(value: str, name: str) -> None:
    """
    Raises:
        TypeError: it is no string.
        TokenizerError: it is not Unicode.
    """
    check_types({name: value}, {name: str})
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise TokenizerError(f"{name}={value[:60]!r} has half a surrogate pair; decode the input as UTF-8") from error


# --- values on a command line ---
# argparse shows the names of these functions: "invalid positive number value: '0'".


def _number(name: str, read: Callable[[str], Number], accepts: Callable[[Number], bool]) -> Callable[[str], Number]:
    def checked(text: str) -> Number:
        if not accepts(value := read(text)):
            raise ValueError
        return value

    checked.__name__ = name
    return checked


positive = _number("positive number", int, lambda n: n >= 1)
not_negative_integer = _number("whole number of at least 0", int, lambda n: n >= 0)
not_negative = _number("finite number of at least 0", float, lambda x: 0 <= x < math.inf)
above_zero = _number("finite number above 0", float, lambda x: 0 < x < math.inf)
probability = _number("number above 0 and up to 1", float, lambda x: 0 < x <= 1)


def device(text: str) -> str:
    """A device by its name. Several of them are refused later, in a sentence."""
    if text not in ("auto", "cpu") and not re.fullmatch(r"cuda(:\d+)?(,cuda(:\d+)?)*", text):
        raise ValueError
    return text


def share(text: str) -> tuple[int, int]:
    """Which share of how many: `3/8`, from 1."""
    number, n_shards = map(int, text.split("/"))
    if not 1 <= number <= n_shards:
        raise ValueError
    return number, n_shards


device.__name__ = "device (auto, cpu, cuda or cuda:1)"
share.__name__ = "share (I/N as 3/8, I from 1 to N)"


# --- options that two commands have ---


def add_launchers(parser: argparse.ArgumentParser, of_what: str) -> None:
    """Options for steps that several processes do together."""
    parser.add_argument(
        "--processes",
        type=positive,
        default=0,
        metavar="N",
        help="of this machine that translate a text together; default: one for each GPU",
    )
    parser.add_argument(
        "--launcher",
        default="",
        metavar="COMMAND",
        help=f'by which {of_what} start on several machines, such as "srun --nodes 2 --ntasks-per-node 4"',
    )
