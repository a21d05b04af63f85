"""The list of deliberate faults fits the code, and whoever tries them is told of each that no test notices."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import __main__ as program
from tests.mutants.areas import AREAS
from tests.mutants.mutant import Mutant
from tests.mutants.trial import BROKEN, CAUGHT, STALE, SURVIVED, UnfitTreeError, check_unmutated, copies, try_out
from tests.places import ROOT

ALL = [mutant for mutants in AREAS.values() for mutant in mutants]

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")

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


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.fault)
def test_each_fault_changes_one_place_of_the_code(mutant: Mutant) -> None:
    assert mutant.problem(ROOT) == ""


def test_each_fault_stands_once_and_has_tests() -> None:
    assert len({mutant.fault for mutant in ALL}) == len({(each.file, each.becomes, each.text) for each in ALL})
    assert len({mutant.fault for mutant in ALL}) == len(ALL) >= 60
    for mutant in ALL:
        assert mutant.tests, mutant.fault
        for test in mutant.tests:
            file, _, name = test.partition("::")
            code = (ROOT / file).read_text(encoding="utf-8")
            functions = {each.name for each in ast.parse(code).body if isinstance(each, ast.FunctionDef)}
            assert not name or name.partition("[")[0] in functions, test


# --- those who try them ---


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with a function and its tests."""
    for name, content in {"seq2seq/__init__.py": CODE, "tests/test_double.py": TESTS, "pytest.ini": "[pytest]"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


@posix
@pytest.mark.slow
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


@posix
def test_a_fault_that_makes_tests_hang_is_caught(tree: Path) -> None:
    endless = replace(TRIPLED, becomes="[None for _ in iter(int, 1)]")
    with copies(tree, 1) as places:
        ((_, outcome, why, _),) = try_out([endless], places, limit_s=1)
    assert (outcome, why) == (CAUGHT, "by time: no end within 1 s")


@posix
def test_tests_that_fail_without_a_fault_prove_nothing(tree: Path) -> None:
    (tree / "tests/test_double.py").write_text(TESTS.replace("== 6", "== 7"))
    with copies(tree, 1) as places, pytest.raises(UnfitTreeError, match=r"(?s)these tests do not pass:.*== 7"):
        check_unmutated(places, [NOTHING, THREE])


@posix
def test_tests_that_meet_other_code_prove_nothing(tree: Path) -> None:
    (tree / "seq2seq/__init__.py").write_text("__file__ = '/elsewhere/seq2seq/__init__.py'")
    with copies(tree, 1) as places, pytest.raises(UnfitTreeError, match="would meet the code of /elsewhere"):
        check_unmutated(places, [THREE])


def test_an_area_that_does_not_exist_is_refused_with_those_that_do() -> None:
    asked = [sys.executable, "-m", "tests.mutants", "modle"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 2 and f"no such area: modle; choose from {', '.join(AREAS)}" in found.stderr
