"""All sentence patterns and how often each is drawn."""

from collections.abc import Callable

from .choices import Chooser
from .combined import (
    at_the_same_time,
    before_leaving,
    contrasting,
    for_a_reason,
    if_it_rains,
    in_order_to,
    in_sequence,
    in_vain,
    interrupted,
    one_after_the_other,
    recalled,
    that_someone_made,
    thinking_that,
    told_her,
    who_does,
)
from .descriptions import (
    age,
    being,
    belonging,
    comparing,
    departure,
    feeling,
    presenting,
    there_is,
    weather,
    where_it_is,
)
from .drafts import Draft, Sentence
from .questions import (
    command,
    how_many,
    open_question,
    what_question,
    where_is,
    who_question,
    yes_no_question,
)
from .statements import (
    giving,
    going,
    governed,
    intransitive,
    nothing,
    speaking_to,
    transitive,
    washing_oneself,
)

# How many of a hundred sentences follow each pattern.
PATTERNS: dict[Callable[[Chooser], Draft], float] = {
    transitive: 20,
    intransitive: 7,
    giving: 4,
    speaking_to: 2,
    going: 4,
    washing_oneself: 1,
    nothing: 1.2,
    governed: 5,
    being: 7,
    comparing: 2,
    there_is: 4,
    where_it_is: 2.5,
    belonging: 1.5,
    presenting: 1.5,
    feeling: 2,
    age: 1,
    weather: 1.5,
    departure: 1.2,
    yes_no_question: 5,
    open_question: 3,
    who_question: 1.8,
    what_question: 1.5,
    where_is: 1,
    how_many: 1,
    command: 3,
    recalled: 2.5,
    in_sequence: 3,
    for_a_reason: 4,
    contrasting: 1.5,
    in_vain: 1.5,
    interrupted: 2.5,
    at_the_same_time: 3,
    one_after_the_other: 4,
    if_it_rains: 1.5,
    before_leaving: 2,
    in_order_to: 3,
    that_someone_made: 3.5,
    who_does: 3.5,
    thinking_that: 2,
    told_her: 2.5,
}


def draw(c: Chooser) -> Sentence:
    pattern = c.weighted(PATTERNS)
    return pattern(c).finish(pattern.__name__)
