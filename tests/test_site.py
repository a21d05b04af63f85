"""The site: it is built without a warning, and its pages are right in a browser, without a network."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs.reference import ELSEWHERE, PAGES, content
from seq2seq.artifacts.run_directory import flat
from seq2seq.commands.translate import OPTIONS
from seq2seq.config import RunConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.options import flag
from tests.places import ROOT, made_once
from tests.processes import LIMIT_S
from tests.reports.browsing import chromium, wanted


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. MkDocs ends with an error if a link or an anchor leads nowhere."""

    def make(folder: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr

    return made_once(tmp_path_factory, "site", make)


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_it_has_a_page_for_each_file_and_for_what_is_in_the_code(site: Path) -> None:
    made = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"404.html"}
    guides = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    expected = guides | set(ELSEWHERE.values()) | {f"reference/{name}.md" for name in PAGES}
    assert made == {uri.replace("README.md", "index.md").replace(".md", ".html") for uri in expected}


def test_tables_and_formulas_are_drawn(site: Path) -> None:
    left = re.compile(r"<p>\||\$\$|class=.arithmatex")
    assert not [page.name for page in site.rglob("*.html") if left.search(page.read_text(encoding="utf-8"))]
    assert "<msqrt>" in (site / "learn/06-equation-1.html").read_text(encoding="utf-8")


def test_the_reference_has_each_key_preset_option_and_rule() -> None:
    page = content("keys")
    rows = re.findall(r"^\| `([\w.]+)` \| `(.*?)` \| .+ \| \w+ \|$", page, re.M)
    assert {key: json.loads(default) for key, default in rows} == flat(asdict(RunConfig()))
    presets = {f"{file.parent.name}={file.stem}" for file in ROOT.glob("conf/[!s]*/*.yaml")}  # not conf/search
    assert presets == set(re.findall(r"^\| `(\w+=\w+)` \|", page, re.M))
    assert {flag(OPTIONS, name) for name in OPTIONS} <= set(re.findall(r"--[a-z][\w-]*", content("commands")))
    assert CleanConfig.names() == re.findall(r"^\| `(\w+)` \|", content("rules"), re.M)


def test_drawings_become_tables() -> None:
    page = content("files")
    assert "| &nbsp;&nbsp;`config.yaml` | the resolved configuration |" in page
    assert "`best.ckpt` | weights of the best validation so far |" in page
    # A meaning that goes on in the next line is one cell.
    assert "also which parts it has |" in page


def test_each_page_fits_and_asks_for_nothing_elsewhere(site: Path, address: str, tmp_path: Path) -> None:
    faults, widths = [], [1400, 390]
    with chromium(tmp_path) as browser:
        for file in sorted(site.rglob("*.html")):
            page = file.relative_to(site).as_posix()
            browser.get(address + page)
            for width in widths:
                size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
                needed = browser.execute_script("return document.documentElement.scrollWidth")
                faults += [f"{page} is {needed} wide on {width}"] if needed > width else []
            faults += [f"{page}: {entry['message']}" for entry in browser.get_log("browser")]
            widths.reverse()  # the next page begins as this one ends: one layout less
        requests, failed = wanted(browser, address)
    assert not faults
    assert not failed and {url for url in requests if not url.startswith((address, "data:", "blob:"))} == set()
    assert len(requests) > 100


def test_the_search_finds_a_key(address: str, tmp_path: Path) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    with chromium(tmp_path) as browser:
        browser.get(f"{address}index.html")
        browser.find_element("css selector", ".md-search__input").send_keys("label_smoothing")
        found = "a.md-search-result__link[href*='reference/keys.html']"
        WebDriverWait(browser, LIMIT_S).until(lambda each: each.find_elements("css selector", found))
        assert browser.get_log("browser") == []
