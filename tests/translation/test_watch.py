"""What stderr says while lines are translated."""

from collections import Counter
from collections.abc import Sequence

import pytest

from seq2seq.translation import watch
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.result import Translation
from seq2seq.translation.text.health import Finding
from seq2seq.translation.watch import MAX_SHOWN_WARNINGS, Watch

SPLIT, LOOP = Finding("split", "It was split."), Finding("loop", "It goes round and round.")


def line(number: int, findings: Sequence[Finding] = (), n_parts: int = 1) -> tuple[Piece, list[Translation]]:
    return Piece.of_line("", number), [Translation("", "", [], [""] * n_parts, [*findings])]


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(watch, "time", clock)
    return clock


def test_progress_gives_the_speed_and_the_time_that_is_left(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(5000, is_quiet=False, shows_progress=True)
    clock.now_s += 2
    watching.count_found(50, 1000)  # 25 a second, and 3950 of 5000 to go
    assert capsys.readouterr().err == "1,050 of 5,000 lines, 25.0 lines/s, 0:02:38 left"
    clock.now_s += 8
    watching.count_found(3950, 1000)
    assert capsys.readouterr().err == "5,000 of 5,000 lines, 400.0 lines/s, 0:00:00 left"


def test_progress_is_shown_at_most_twice_a_second(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=True)
    for _ in range(100):  # 10 seconds
        clock.now_s += 0.1
        watching.count_found(1)
    assert 15 < capsys.readouterr().err.count("lines/s") <= 20


def test_warnings_are_shown_up_to_a_limit_and_counted_by_kind(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    for number in range(1, 31):
        findings = [SPLIT, LOOP] if number % 3 == 0 else [LOOP] if number == 1 else []
        watching.count_block([line(number, findings)])
    clock.now_s += 4
    watching.counts["not UTF-8"] = 2
    watching.report()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "warning: line 1: It goes round and round.",
        "warning: line 3: It was split.",
        "warning: line 3: It goes round and round.",
    ]
    assert len([line for line in lines if line.startswith("warning: line ")]) == MAX_SHOWN_WARNINGS
    assert lines[MAX_SHOWN_WARNINGS:] == [
        "warning: further warnings are counted, but not shown",
        "translated 30 lines in 4.0 s (7.5 lines/s)",
        "have a look at 11 of them: 11 loop, 10 split",
        "2 lines of input were not UTF-8; U+FFFD stands for what could not be read",
    ]


def test_as_many_warnings_as_are_shown_need_no_word_about_others(capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    watching.count_block(line(number, [LOOP]) for number in range(1, MAX_SHOWN_WARNINGS + 1))
    err = capsys.readouterr().err
    assert err.count("\n") == MAX_SHOWN_WARNINGS
    assert "not shown" not in err


def test_who_joins_says_what_others_did(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    own = watching.count_block([line(1235, [LOOP])])
    capsys.readouterr()
    clock.now_s += 2
    watching.report(own + Counter({"lines": 1234, "flagged": 3, "finding: loop": 2, "finding: split": 1}))
    assert capsys.readouterr().err == (
        "translated 1 lines in 2.0 s (0.5 lines/s); 1,234 more by other processes or an earlier run\n"
        "have a look at 4 of them: 3 loop, 1 split\n"
    )


def test_a_piece_of_several_lines_counts_as_so_many(capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    watching.count_block([(Piece("1\n00:01 --> 00:02\nOne\nor two\n", 1, ["One or two"], "".join), [])])
    watching.report()
    assert capsys.readouterr().err.startswith("translated 4 lines in ")


def test_lines_in_parts_are_counted_at_the_end_and_what_was_done_is_named(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False, verb="scored")
    watching.count_block(line(number, n_parts=n_parts) for number, n_parts in enumerate([1, 2, 0, 7], start=1))
    clock.now_s += 2
    watching.report()
    assert capsys.readouterr().err == (
        "scored 4 lines in 2.0 s (2.0 lines/s)\nlines that were split and joined again: 2\n"
    )
