"""What stderr says while lines are translated."""

import json
from collections import Counter

import pytest

from seq2seq.translation import watch
from seq2seq.translation.text.health import Finding
from seq2seq.translation.watch import MAX_SHOWN_WARNINGS, Counts, Watch, WrittenLine

SPLIT, LOOP = Finding("split", "It was split."), Finding("loop", "It goes round and round.")


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
    assert capsys.readouterr().err == "\r1,050 of 5,000 lines, 25.0 lines/s, 0:02:38 left\x1b[K"
    clock.now_s += 8
    watching.count_found(3950, 1000)
    assert capsys.readouterr().err == "\r5,000 of 5,000 lines, 400.0 lines/s, 0:00:00 left\x1b[K"


def test_hours_are_shown_as_such(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(10_000, is_quiet=False, shows_progress=True)
    clock.now_s += 10
    watching.count_found(10)
    assert "1.0 lines/s, 2:46:30 left" in capsys.readouterr().err


def test_of_a_stream_only_the_speed_is_known(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=True)
    clock.now_s += 4
    watching.count_found(10)
    assert capsys.readouterr().err == "\r10 lines, 2.5 lines/s\x1b[K"


def test_progress_is_shown_at_most_twice_a_second(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=True)
    for _ in range(100):  # 10 seconds
        clock.now_s += 0.1
        watching.count_found(1)
    assert 15 < capsys.readouterr().err.count("\r") <= 20


def test_where_nothing_is_to_be_shown_nothing_is(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(10, is_quiet=False, shows_progress=False)
    clock.now_s += 9
    watching.count_found(5)
    assert capsys.readouterr().err == ""
    watching.count_block([WrittenLine(1, [SPLIT])])
    watching.report()
    assert "\r" not in capsys.readouterr().err


def test_other_lines_replace_that_of_progress(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    Watch(10, is_quiet=False, shows_progress=True).count_block([WrittenLine(3, [SPLIT])])
    assert capsys.readouterr().err == "\r\x1b[Kwarning: line 3: It was split.\n"


def test_warnings_are_shown_up_to_a_limit_and_counted_by_kind(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    for number in range(1, 31):
        findings = [SPLIT, LOOP] if number % 3 == 0 else [LOOP] if number == 1 else []
        watching.count_block([WrittenLine(number, findings)])
    clock.now_s += 4
    watching.counts.n_replaced = 2
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
    watching.count_block(WrittenLine(number, [LOOP]) for number in range(1, MAX_SHOWN_WARNINGS + 1))
    err = capsys.readouterr().err
    assert err.count("\n") == MAX_SHOWN_WARNINGS
    assert "not shown" not in err


def test_who_joins_says_what_others_did(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False)
    own = watching.count_block([WrittenLine(1235, [LOOP])])
    capsys.readouterr()
    clock.now_s += 2
    watching.report(own + Counts(1234, Counter({"loop": 2, "split": 1}), 3))
    assert capsys.readouterr().err == (
        "translated 1 lines in 2.0 s (0.5 lines/s); 1,234 more by other processes or an earlier run\n"
        "have a look at 4 of them: 3 loop, 1 split\n"
    )


def test_counts_are_read_back_as_they_were_written() -> None:
    counts = Counts(3, Counter({"loop": 2}), 1, Counter({"quotes": 1}), 1, 2, 0)
    assert Counts.of(json.loads(json.dumps(vars(counts)))) == counts


def test_lines_in_parts_are_counted_at_the_end_and_what_was_done_is_named(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = Watch(None, is_quiet=False, shows_progress=False, verb="scored")
    watching.count_block(WrittenLine(number, [], n_parts) for number, n_parts in enumerate([1, 2, 0, 7], start=1))
    clock.now_s += 2
    watching.report()
    assert capsys.readouterr().err == (
        "scored 4 lines in 2.0 s (2.0 lines/s)\nlines of several sentences, which were split and joined again: 2\n"
    )


def test_quiet_is_quiet(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    watching = Watch(None, is_quiet=True, shows_progress=False)
    watching.count_block(WrittenLine(number, [LOOP]) for number in range(1, 40))
    clock.now_s += 2
    watching.count_found(39)
    watching.counts.n_replaced = 1
    watching.report()
    assert capsys.readouterr().err == ""
