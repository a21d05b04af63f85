"""Pages as people see them: they draw themselves, filter, sort, show alignments, and ask nothing of a network."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2seq.analysis.test_set import FINDINGS, AnalysedSentence, TestSetAnalysis
from seq2seq.artifacts.run_directory import Selection
from seq2seq.characters import n_words, split_words
from seq2seq.config.clean import CorpusCleanConfig
from seq2seq.corpus.cleaning.files import CleaningOptions, clean_files
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.cleaning_report import cleaning_page
from seq2seq.reports.diff_page import diff_page
from seq2seq.reports.run_page import run_page
from tests.reports.browsing import chromium, find, open_page, point_at, press, quiet, texts
from tests.reports.reported import REFERENCES, SOURCES, TRANSLATIONS, analysis, finished_run, unfinished_run

OTHER = ["A dog is running.", "Two kids play.", TRANSLATIONS[2]]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = finished_run(tmp_path_factory.mktemp("report") / "run")
    run.write_report(run_page(AnalysedRun(run, {"news": analysis()})))
    return run.report_file


@pytest.fixture(scope="module")
def diff(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("diff")
    a = AnalysedRun(finished_run(folder / "a"), {"news": analysis()})
    b = AnalysedRun(finished_run(folder / "b", OTHER), {"news": analysis(OTHER, [100.0, 30.0, 71.25])})
    (folder / "diff.html").write_text(diff_page([a, b]))
    return folder / "diff.html"


@pytest.mark.parametrize(
    "text",
    [
        "医生每天早上看见 iPhone 面包。", "コーヒーを飲みます ｺｰﾋｰ 々人々", "หมอเห็นขนมปังทุกเช้า น้ำ ๑๒", "ខ្ញុំទៅ។ អ្នកមក។",
        "ຂ້ອຍໄປ ນໍ້າ ນຳ້",
        "သူသွားသည်၊ မြန်မာ", "བོད་ཡིག་ནི།", " A dog,  l'homme 3,5.", "डॉक्टर हर सुबह", "갔다. 왔어?", "我住在USA和Paris。",
    ],
)  # fmt: skip
def test_words_are_those_of_the_analysis(browser: Any, report: Path, text: str) -> None:
    open_page(browser, report)
    assert browser.execute_script("return [words(arguments[0]), nWords(arguments[0])]", text) == [
        split_words(text), n_words(text)
    ]  # fmt: skip
    drawn = (
        "[...el('p', null, plain(arguments[0], 's')).querySelectorAll('[data-word]')].map((each) => each.textContent)"
    )
    assert browser.execute_script(f"return {drawn}", text) == split_words(text)
    assert browser.execute_script("return el('p', null, plain(arguments[0], 's')).textContent", text) == text


def numbers(browser: Any) -> list[int]:
    """The lines of the sentences that the page shows, in its order."""
    return [int(article.get_attribute("data-number")) for article in find(browser, "article")]


def choose(browser: Any, name: str, value: str) -> None:
    (select,) = find(browser, f"select[name={name}]")
    change = "arguments[0].value = arguments[1]; for (const type of ['input', 'change']) "
    browser.execute_script(f"{change} arguments[0].dispatchEvent(new Event(type, {{bubbles: true}}))", select, value)


def click_pill(browser: Any, value: str) -> None:
    (box,) = find(browser, f"input[value='{value}']")
    browser.execute_script("arguments[0].closest('label').click()", box)


def test_a_report_draws_all_of_its_sections(browser: Any, report: Path) -> None:
    open_page(browser, report)
    assert browser.title == "demo: fr to en, seed 7, BLEU 54.5"
    assert texts(browser, "nav a") == texts(browser, "h2")
    assert {"Scores", "How it learned", "Where it is weak", "Sentences", "Attention", "Data"} <= set(
        texts(browser, "h2")
    )
    assert texts(browser, "#curves figcaption")[0].startswith("Loss")
    assert all(line.get_attribute("points").count(",") == 3 for line in find(browser, "#curves polyline"))
    assert "54.52" in texts(browser, "#scores tbody")[0] and "tok:13a" in texts(browser, "#scores tbody")[0]
    assert "6 words and more" in texts(browser, "#weaknesses tbody")[0]
    assert "60.0 ± 5.5" in texts(browser, "#weaknesses tbody")[0]
    assert len(find(browser, "#attention rect")) == 6
    assert "300 pieces" in texts(browser, "#text pre")[0]
    changed = texts(browser, "#configuration details[open] tbody th")
    assert "seed" in " ".join(changed) and "model.d_model" not in " ".join(changed)
    quiet(browser, report)


def test_a_report_shows_what_decided_which_weights_won(browser: Any, tmp_path: Path) -> None:
    run = finished_run(tmp_path / "run")
    config = run.config()
    config.trainer.monitor = "valid/loss"
    run.write_config(config)
    run.write_selection(Selection("last", 30, {"last": {"bleu": 15.0, "chrf": 30.0, "loss": 2.3456}}))
    run.write_report(run_page(AnalysedRun(run, {})))
    open_page(browser, run.report_file)
    assert texts(browser, "#scores table:last-of-type tr")[-2:] == [
        "weights BLEU chrF loss",
        "last 15.00 30.00 2.3456 chosen",
    ]


def test_sentences_are_filtered_and_sorted(browser: Any, report: Path) -> None:
    open_page(browser, report)
    assert numbers(browser) == [1, 3, 2]
    choose(browser, "order", "best")
    assert numbers(browser) == [2, 3, 1]
    choose(browser, "train", "true")
    assert numbers(browser) == [2]
    choose(browser, "train", "")
    choose(browser, "domain", "books")
    assert numbers(browser) == [3]
    choose(browser, "domain", "")
    click_pill(browser, "lost numbers")
    assert numbers(browser) == [3]
    assert "lost numbers: 3" in texts(browser, "article header")[0]
    click_pill(browser, "lost numbers")
    (search,) = find(browser, "input[type=search]")
    search.send_keys("NEIGE")
    assert numbers(browser) == [2] and texts(browser, ".count") == ["1 of 3 sentences"]
    search.clear()
    search.send_keys("nothing has this")
    assert numbers(browser) == []
    quiet(browser, report)


def test_words_light_up_with_their_partners(browser: Any, report: Path) -> None:
    open_page(browser, report)
    point_at(browser, find(browser, "article[data-number='1'] [data-word=s1]")[0])
    assert texts(browser, ".lit") == ["chien", "dog"]
    press(browser, "article[data-number='1']", "\ue014")  # the arrow to the right
    assert texts(browser, ".lit") == ["Un", "A"]
    quiet(browser, report)


def test_words_that_differ_from_the_reference_are_marked(browser: Any, report: Path) -> None:
    open_page(browser, report)
    assert texts(browser, "article[data-number='1'] .extra") == ["runs"]
    assert texts(browser, "article[data-number='1'] .missing") == ["is", "running"]
    assert texts(browser, "article[data-number='2'] .extra") == []


def test_markup_in_sentences_stays_text(browser: Any, report: Path) -> None:
    open_page(browser, report)
    assert find(browser, "#hostile, article b b, dd b") == []
    assert TRANSLATIONS[2] in texts(browser, "article[data-number='3'] dd")
    assert SOURCES[2] in texts(browser, "article[data-number='3'] dd")


def test_curves_say_what_they_are_under_the_pointer_and_run_over_hours(browser: Any, report: Path) -> None:
    open_page(browser, report)
    (chart, *_) = find(browser, "#curves figure svg[tabindex]")
    chart.send_keys("\ue012")  # the arrow to the left, from the last step
    assert "train 5" in texts(browser, "#curves .legend")[0] and "at step 20" in texts(browser, "#curves .legend")[0]
    click_pill(browser, "hours")
    assert "hours" in texts(browser, "#curves figure svg[tabindex]")[0]
    quiet(browser, report)


def test_an_unfinished_run_says_so(browser: Any, tmp_path: Path) -> None:
    run = unfinished_run(tmp_path / "run")
    run.write_report(run_page(AnalysedRun.read(run)))
    open_page(browser, run.report_file)
    assert texts(browser, ".note") == ["This run is not finished, so it has no scores and no translations yet."]
    assert texts(browser, "h2") == ["How it learned", "Configuration", "Machine and time"]
    quiet(browser, run.report_file)


def test_a_diff_shows_what_got_better_and_worse(browser: Any, diff: Path) -> None:
    open_page(browser, diff)
    assert browser.title == "a against b, fr to en"
    assert numbers(browser) == [2, 3, 1]
    assert "chrF −70.0" in texts(browser, "article header")[0]
    assert texts(browser, "article[data-number='1'] .right") == ["is", "running"]
    assert texts(browser, "article[data-number='1'] .wrong") == ["runs"]
    choose(browser, "order", "better")
    assert numbers(browser) == [1, 3, 2]
    click_pill(browser, "worse")
    assert numbers(browser) == [2]
    click_pill(browser, "equal")
    assert sorted(numbers(browser)) == [2, 3]
    assert texts(browser, "#scores tbody th")[:2] == ["BLEU", "chrF"]
    quiet(browser, diff)


def test_a_diff_of_three_runs_lets_one_choose(browser: Any, tmp_path: Path) -> None:
    runs = [AnalysedRun(finished_run(tmp_path / name), {"news": analysis()}) for name in "abc"]
    runs[2] = dataclasses.replace(runs[2], run=finished_run(tmp_path / "d", name="other"))
    (tmp_path / "diff.html").write_text(diff_page(runs))
    open_page(browser, tmp_path / "diff.html")
    assert "Nothing but places" in texts(browser, "#configuration")[0]
    choose(browser, "pair", "1")
    assert "other" in texts(browser, "#configuration tbody")[0]
    quiet(browser, tmp_path / "diff.html")


def test_a_thousand_sentences_load_in_a_moment_and_are_below_3_mb(browser: Any, tmp_path: Path) -> None:
    """The time is that of the browser. It is around 0.2 s; the limit leaves room for a busy machine."""
    rng = random.Random(1)
    words = " ".join(SOURCES + REFERENCES).split()

    def text() -> str:
        return " ".join(rng.choices(words, k=25))

    run, base = finished_run(tmp_path / "run"), analysis()
    sentences = [
        AnalysedSentence(
            number,
            text(),
            text(),
            [text()],
            rng.uniform(0, 100),
            10.0,
            findings={kind: ("word",) for kind in FINDINGS if rng.random() < 0.2},
            alignment=[(i, i) for i in range(25)],
        )
        for number in range(1, 1001)
    ]
    many = TestSetAnalysis("news", sentences, base.slices, dict.fromkeys(FINDINGS, 200), base.attention)
    run.write_report(run_page(AnalysedRun(run, {"news": many})))
    assert run.report_file.stat().st_size < 3e6
    open_page(browser, run.report_file)
    (more,) = find(browser, "button.more")
    assert len(numbers(browser)) == 30 and more.text == "Show 30 more"
    browser.execute_script("arguments[0].click()", more)
    assert len(set(numbers(browser))) == 60
    timing = browser.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"{run.report_file.stat().st_size / 1e6:.2f} MB loaded in {timing:.0f} ms")
    assert timing < 5000
    quiet(browser, run.report_file)


def test_a_page_of_cleaning_shows_reasons_rules_bars_and_invisible_characters(browser: Any, tmp_path: Path) -> None:
    for language, lines in {
        "fr": "Un\u200b chat.\nDeux <b>chiens</b>.\nIl pleut.\n",
        "en": "A cat.\nDogs.\nRain.\n",
    }.items():
        (tmp_path / f"train.{language}").write_text(lines, encoding="utf-8")
    clean = CorpusCleanConfig(rules="default")
    report = clean_files(CleaningOptions(files=(str(tmp_path / "train"),), languages=("fr", "en"), clean=clean))
    (tmp_path / "page.html").write_text(cleaning_page(report), encoding="utf-8")
    open_page(browser, tmp_path / "page.html")
    assert texts(browser, "h1") == ["3 pairs of fr and en, 1 of them good"]
    assert [row.split()[0] for row in texts(browser, "#reasons tbody tr")] == ["control", "tags"]
    assert len(texts(browser, "#rules tbody tr")) == 15
    assert len(find(browser, "#shape rect")) == 2 * (8 + 8 + 6)
    assert texts(browser, "#examples .wrong") == ["\\u200b"]
    assert "Deux <b>chiens</b>." in texts(browser, "#examples dd")
    quiet(browser, tmp_path / "page.html")
