"""A headless Chromium for tests of pages, and what it did."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which root needs
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--window-size=1280,1000",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A browser with an empty profile. The test is skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install -e '.[dev]'")
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("chromium and chromedriver are not installed (Debian: apt install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for option in (*_OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def open_page(browser: Any, file: Path) -> None:
    """Open a file, and forget what the page before has logged."""
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(file.as_uri())


def find(browser: Any, selector: str) -> list[Any]:
    found: list[Any] = browser.find_elements("css selector", selector)
    return found


def texts(browser: Any, selector: str) -> list[str]:
    return [element.text for element in find(browser, selector)]


def point_at(browser: Any, element: Any) -> None:
    from selenium.webdriver import ActionChains

    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    ActionChains(browser).move_to_element(element).perform()


def press(browser: Any, selector: str, *keys: str) -> None:
    """Press keys where an element has the focus."""
    from selenium.webdriver import ActionChains

    browser.execute_script("arguments[0].focus()", find(browser, selector)[0])
    ActionChains(browser).send_keys(*keys).perform()


def quiet(browser: Any, file: Path) -> None:
    """Nothing went wrong in the page, and it has asked for nothing but itself."""
    assert browser.get_log("browser") == []
    assert wanted(browser, file.as_uri())[0] == [file.as_uri()]


def wanted(browser: Any, start: str) -> tuple[list[str], list[str]]:
    """What pages whose addresses begin with `start` have asked for, and what of it failed.

    The browser's own pages do not count.
    """
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent: dict[str, str] = {}
    failed = []
    for message in messages:
        method, params = message["method"], message["params"]
        if method == "Network.requestWillBeSent" and params["documentURL"].startswith(start):
            sent[params["requestId"]] = str(params["request"]["url"])
        has_failed = method == "Network.responseReceived" and params["response"]["status"] >= 400
        if (has_failed or method == "Network.loadingFailed") and params["requestId"] in sent:
            failed.append(sent[params["requestId"]])
    return [*sent.values()], failed
