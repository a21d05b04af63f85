"""Try whether the tests notice deliberate faults:  python -m tests.mutants [AREA ...]

Each *mutant* is the project with one realistic mistake (`tests/mutants/areas/`). Its tests run in a copy of the tree,
and one of them has to fail. A mutant that survives shows a test that is missing. A stale one has lost the text that it
replaces, or does not change what the code does: look for the place where the same mistake could be made now.

Without arguments, all areas are tried. The exit status is 0 if every mutant was caught.
"""

import argparse
import os
import sys
import time
from collections import Counter
from itertools import chain

from tests.mutants.areas import AREAS
from tests.mutants.trial import CAUGHT, UnfitTreeError, check_unmutated, copies, try_out, warm_up
from tests.places import ROOT


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").partition("\n")[2])
    parser.add_argument("areas", nargs="*", metavar="AREA", help=f"one of {', '.join(AREAS)}; without: all of them")
    parser.add_argument("--match", default="", metavar="TEXT", help="only mutants whose fault contains this text")
    parser.add_argument(
        "--workers", type=int, default=min(4, os.cpu_count() or 1), help="mutants at a time (default: %(default)s)"
    )
    parser.add_argument(
        "--share", type=_share, default=(1, 1), metavar="I/N", help="the I-th of N shares; I may go beyond N, and wraps"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.areas) - AREAS.keys():
        parser.error(f"no such area: {', '.join(sorted(unknown))}; choose from {', '.join(AREAS)}")
    areas = {area: AREAS[area] for area in arguments.areas or AREAS}
    mutants = [each for each in chain.from_iterable(areas.values()) if arguments.match in each.fault]
    number, n_shares = arguments.share
    mutants = mutants[(number - 1) % n_shares :: n_shares]
    area_of = {each.fault: area for area, those in areas.items() for each in those}
    if not mutants:
        parser.error("no mutant has such a fault, or the share is empty")

    began = time.monotonic()
    found: Counter[str] = Counter()
    try:
        with copies(ROOT, arguments.workers) as places:
            print(f"{len(mutants)} mutants, in copies such as {places[0]}", flush=True)
            tests = [test for each in mutants if not each.problem(places[0]) for test in each.tests]
            check_unmutated(places, tests)
            print(f"their tests pass without a fault ({time.monotonic() - began:.0f} s)\n", flush=True)
            for mutant, outcome, why, seconds in try_out(mutants, places):
                found[outcome] += 1
                area = area_of[mutant.fault]
                print(
                    f"{outcome:8}  {seconds:4.0f} s  {area:13}  {mutant.fault}\n{'':18}{' '.join(why.split())[:160]}",
                    flush=True,
                )
    except UnfitTreeError as error:
        print(error, file=sys.stderr)
        return 2
    counts = ", ".join(f"{n} {outcome.lower()}" for outcome, n in found.items())
    print(f"\n{len(mutants)} mutants: {counts}, in {(time.monotonic() - began) / 60:.1f} minutes")
    return 0 if found[CAUGHT] == len(mutants) else 1


def _share(text: str) -> tuple[int, int]:
    number, _, n_shares = text.partition("/")
    if int(n_shares) < 1:
        raise ValueError
    return int(number), int(n_shares)


if __name__ == "__main__":
    warm_up()
    sys.exit(main())
