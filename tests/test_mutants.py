"""The list of deliberate faults fits the code, and whoever tries them is told of each that no test notices."""

import multiprocessing
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.mutants import __main__ as program
from tests.mutants.areas import AREAS
from tests.mutants.mutant import Mutant
from tests.mutants.trial import BROKEN, CAUGHT, STALE, SURVIVED, UnfitTreeError, check_unmutated, copies, try_out
from tests.places import ROOT

ALL = [mutant for mutants in AREAS.values() for mutant in mutants]

CODE = """
def double(n: int) -> int:
    return 2 * n
"""
TESTS = """
from seq2seq import double

def test_twice_nothing_is_nothing():
    assert double(0) == 0

def test_twice_three_is_six():
    assert double(3) == 6
"""
NOTHING, THREE = (f"tests/test_double.py::test_twice_{each}" for each in ("nothing_is_nothing", "three_is_six"))
TRIPLED = Mutant(
    fault="it is tripled", file="seq2seq/__init__.py", text="2 * n", becomes="3 * n", tests=[NOTHING, THREE]
)


def test_the_code_has_the_text_of_each_fault_once() -> None:
    stale = [mutant for mutant in ALL if code_of(mutant.file).count(mutant.text) != 1]
    assert [(mutant.file, mutant.fault) for mutant in stale] == [], "put them where the same mistake could be made now"


def test_each_fault_stands_once_and_has_tests() -> None:
    assert len({mutant.fault for mutant in ALL}) == len({(each.file, each.becomes, each.text) for each in ALL})
    assert len({mutant.fault for mutant in ALL}) == len(ALL) >= 60
    assert [mutant.fault for mutant in ALL if not mutant.tests] == []
    named = {test.partition("[")[0] for mutant in ALL for test in mutant.tests}
    assert [test for test in sorted(named) if not is_there(*test.partition("::")[::2])] == []


def is_there(file: str, function: str) -> bool:
    return bool(code_of(file)) and (not function or f"\ndef {function}(" in code_of(file))


@cache
def code_of(file: str) -> str:
    """Empty if there is none."""
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


# --- those who try them ---


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with a function and its tests, which start in a process that has imported what they need."""
    imported = ["hydra.extra.pytest_plugin", "hypothesis", "pytest"]
    multiprocessing.get_context("forkserver").set_forkserver_preload(imported)
    for name, content in {"seq2seq/__init__.py": CODE, "tests/test_double.py": TESTS, "pytest.ini": "[pytest]"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def test_a_fault_that_no_test_notices_is_reported(tree: Path, monkeypatch, capsys) -> None:
    doubling = [
        TRIPLED,
        replace(TRIPLED, fault="no test is for it", tests=[NOTHING]),
        replace(TRIPLED, fault="its code has changed", text="4 * n"),
        replace(TRIPLED, fault="it does the same", becomes="(2 * n)"),
        replace(TRIPLED, fault="it cannot be read", becomes="2 *"),
        replace(TRIPLED, fault="nothing can be tested", text="def", becomes="raise OSError\n\ndef"),
    ]
    monkeypatch.setattr(program, "ROOT", tree)
    others = [replace(TRIPLED, fault="not asked for")]
    monkeypatch.setattr(program, "AREAS", {"doubling": doubling, "others": others})
    monkeypatch.setattr(sys, "argv", ["mutants", "doubling", "--workers", "1"])
    assert program.main() == 1
    assert (tree / "seq2seq/__init__.py").read_text() == CODE
    out = capsys.readouterr().out
    found = re.findall(r"^(\w+) +\d+ s  doubling +(.+)\n +(.+)$", out, re.M)
    expected = {
        "it is tripled": (CAUGHT, f"{THREE} - assert 9 == 6"),
        "no test is for it": (SURVIVED, "all of its tests pass"),
        "its code has changed": (STALE, "seq2seq/__init__.py has its text 0 times"),
        "it does the same": (STALE, "seq2seq/__init__.py does the same with it"),
        "it cannot be read": (STALE, "seq2seq/__init__.py is no longer Python with it (invalid syntax"),
        "nothing can be tested": (BROKEN, "pytest ended with status "),
    }
    assert {fault: outcome for outcome, fault, _ in found} == {fault: expected[fault][0] for fault in expected}
    for _, fault, why in found:
        assert why.startswith(expected[fault][1])
    assert "\n6 mutants: 1 caught, 1 survived, 3 stale, 1 broken, in " in out


def test_a_fault_that_makes_tests_hang_is_caught(tree: Path) -> None:
    endless = replace(TRIPLED, becomes="[None for _ in iter(int, 1)]")
    with copies(tree, 1) as places:
        ((_, outcome, why, _),) = try_out([endless], places, limit_s=0.5)
    assert (outcome, why) == (CAUGHT, "by time: no end within 0.5 s")


def test_tests_that_fail_without_a_fault_prove_nothing(tree: Path) -> None:
    (tree / "tests/test_double.py").write_text(TESTS.replace("== 6", "== 7"))
    with copies(tree, 1) as places, pytest.raises(UnfitTreeError, match=r"(?s)these tests do not pass:.*== 7"):
        check_unmutated(places, [NOTHING, THREE])


def test_tests_that_meet_other_code_prove_nothing(tree: Path) -> None:
    (tree / "seq2seq/__init__.py").write_text("__file__ = '/elsewhere/seq2seq/__init__.py'")
    with copies(tree, 1) as places, pytest.raises(UnfitTreeError, match="would meet the code of /elsewhere"):
        check_unmutated(places, [THREE])


def test_an_area_that_does_not_exist_is_refused_with_those_that_do(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", ["mutants", "modle"])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert f"no such area: modle; choose from {', '.join(AREAS)}" in capsys.readouterr().err
