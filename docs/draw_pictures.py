"""Draw the pictures of docs/images from runs of Multi30k:  make pictures RUN=runs/fr-en BACK=runs/en-fr"""

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.reports.browsing import chromium

IMAGES = Path(__file__).parent / "images"
SENTENCE = "Un chien noir court avec une balle rouge."
IT = (
    "The dog did not cross the road as it was too tired.",
    "The dog did not cross the road as it was too narrow.",
)
GLASSES = """\
Two men wearing glasses look at a map.
A boy wearing glasses smiles.
A man with glasses plays the guitar.
A man with glasses reads a newspaper.
An old woman in glasses and a hat.
A girl with dark glasses and a scarf.
Three glasses of wine stand on a table.
A waiter carries glasses of wine.
A bartender fills glasses with beer.
Two women drink from glasses of beer.
People in a bar hold glasses of champagne.
A table with plates and glasses of water.
"""


def draw(run: Path, folder: Path) -> None:
    """What a run from French to English shows."""
    head = ("--layer", "4", "--head", "2")
    seq2seq("attention", "--model", run, "--src", SENTENCE, *head, "--output", IMAGES / "translation.png")
    seq2seq("report", run, "--output", folder / "report.html")
    with chromium(folder / "profile") as browser:
        photograph(browser, folder / "report.html", "report.png")


def draw_back(run: Path, folder: Path) -> None:
    """What a run from English to French shows."""
    seq2seq("heads", "--model", run, "--output", IMAGES / "attention-heads.png")
    glasses = folder / "glasses.en"
    glasses.write_text(GLASSES)
    picture = IMAGES / "attention-vectors.png"
    seq2seq("encode", "--model", run, "--input", glasses, "--word", "glasses", "--picture", picture)
    page = folder / "attention.html"
    seq2seq("attention", "--model", run, "--src", IT[0], "--src", IT[1], "--output", page)
    with chromium(folder / "profile") as browser:
        it = f".token[data-q='{IT[0].split().index('it')}']"
        photograph(browser, page, "attention-page.png", "kind=encoder&layer=3&heads=1,2,3,4", click=it)


def seq2seq(command: str, *arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "seq2seq", command, *map(str, arguments)], check=True)


def photograph(browser: Any, page: Path, name: str, shown: str = "", click: str = "") -> None:
    browser.set_window_size(1200, 1255)
    browser.get(f"{page.as_uri()}#{shown}")
    browser.execute_script("document.documentElement.style.scrollbarWidth = 'none'")
    if click:
        browser.find_element("css selector", click).click()
        browser.execute_script("document.activeElement.blur()")
    browser.save_screenshot(str(IMAGES / name))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a run of Multi30k, French to English")
    parser.add_argument("back", type=Path, nargs="?", help="and one from English to French, for what needs it")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        draw(arguments.run, Path(folder))
        if arguments.back:
            draw_back(arguments.back, Path(folder))
