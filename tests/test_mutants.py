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
def test_a_fault_that_no_test_notices_is_reported(tree: Path) -> None:
    mutants = {
        CAUGHT: TRIPLED,
        SURVIVED: replace(TRIPLED, tests=[NOTHING]),
        STALE: replace(TRIPLED, text="4 * n"),
        "the same": replace(TRIPLED, becomes="(2 * n)"),
        "no Python": replace(TRIPLED, becomes="2 *"),
        BROKEN: replace(TRIPLED, tests=["tests/test_double.py::test_four"]),
    }
    with copies(tree, 1) as places:
        found = {each.mutant: each for each in try_out(list(mutants.values()), places)}
        assert (places[0] / "seq2seq/__init__.py").read_text() == CODE
    assert not places[0].exists()
    assert (tree / "seq2seq/__init__.py").read_text() == CODE
    verdicts = {name: found[mutant][1:3] for name, mutant in mutants.items()}
    assert verdicts[CAUGHT][0] == CAUGHT and verdicts[CAUGHT][1].startswith(THREE)
    assert verdicts[SURVIVED] == (SURVIVED, "all of its tests pass")
    assert verdicts[STALE] == (STALE, "seq2seq/__init__.py has its text 0 times")
    assert verdicts["the same"] == (STALE, "seq2seq/__init__.py does the same with it")
    assert verdicts["no Python"][0] == STALE and "is no longer Python with it" in verdicts["no Python"][1]
    assert verdicts[BROKEN][0] == BROKEN and "pytest ended with status 4" in verdicts[BROKEN][1]


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


@posix
@pytest.mark.slow
@pytest.mark.parametrize(("tests", "status"), [([THREE], 0), ([NOTHING], 1)])
def test_the_status_says_whether_a_fault_survived(tree: Path, tests, status, monkeypatch, capsys) -> None:
    monkeypatch.setattr(program, "ROOT", tree)
    monkeypatch.setattr(program, "AREAS", {"doubling": [replace(TRIPLED, tests=tests)], "others": []})
    monkeypatch.setattr(sys, "argv", ["mutants", "doubling", "--workers", "1"])
    assert program.main() == status
    *_, head, why, _, summary = capsys.readouterr().out.splitlines()
    outcome = (CAUGHT, SURVIVED)[status]
    assert re.fullmatch(rf"{outcome} +\d+ s  doubling +it is tripled", head)
    assert why.strip().startswith(THREE if status == 0 else "all of its tests pass")
    assert summary.startswith(f"1 mutants: 1 {outcome.lower()}, in ")


def test_an_area_that_does_not_exist_is_refused_with_those_that_do() -> None:
    asked = [sys.executable, "-m", "tests.mutants", "modle"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 2 and f"no such area: modle; choose from {', '.join(AREAS)}" in found.stderr
