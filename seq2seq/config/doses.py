"""How much of an epoch a training source has.

{source: SOURCE, weight: 2}       twice as often as without a weight; 0: not at all, 0.5: half of its pairs, in turn
{source: SOURCE, share: 0.3}      so much of the pairs of an epoch; the sources without a share fill the rest
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from seq2seq.errors import ConfigError

MOST_WEIGHT = 1000
_LEAST_REST = (
    0.01  # of an epoch, for the sources without a share; with less, it is over a hundred times as long as they
)


@dataclass(frozen=True)
class Dose:
    """A weight, or a share."""

    weight: float = 1.0  # how often an epoch has each pair, beside what `data.temperature` says
    share: float = 0.0  # of the pairs of an epoch, whatever the number of pairs and the temperature; 0: none

    def __str__(self) -> str:
        return f"share {self.share:g}" if self.share else f"weight {self.weight:g}"


USUAL = Dose()  # of a source that says nothing


def read_weight(key: str, value: object) -> Dose:
    """
    Raises:
        ConfigError: it is no weight. So in all of this file.
    """
    if not 0 <= (weight := _number(value)) <= MOST_WEIGHT:
        raise ConfigError(f"{key}={value!r} is not a number from 0 to {MOST_WEIGHT}")
    return Dose(weight=float(weight))


def read_share(key: str, value: object) -> Dose:
    if not 0 < (share := _number(value)) < 1:
        raise ConfigError(f"{key}={value!r} is not between 0 and 1; give a part of an epoch, or weight: 0 for none")
    return Dose(share=share)


def check_doses(key: str, doses: Iterable[Dose]) -> None:
    """Refuse doses of all sources that make no epoch."""
    doses = list(doses)
    in_all = sum(dose.share for dose in doses)
    if in_all > 1 - _LEAST_REST:
        raise ConfigError(
            f"{key}: the shares add up to {in_all:g}; leave at least {_LEAST_REST:g} of an epoch to sources without one"
        )
    if not any(dose.weight and not dose.share for dose in doses):
        if in_all:
            raise ConfigError(f"{key}: no source fills the rest of an epoch; give one a weight > 0 and no share")
        raise ConfigError(f"{key}: every source has weight 0, so an epoch has no pairs; give one a weight > 0")


def _number(value: object) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
