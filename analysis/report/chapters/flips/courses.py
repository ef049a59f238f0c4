"""How a model's preference runs through its test cases, place by place: what the chapter counts and single traces show."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd
from django.utils.translation import gettext_lazy as _

from analysis.data.dataset import Tokens
from analysis.stats.flips import (
    NATS,
    PPL,
    common_places,
    sentence_places,
    sequences,
    token_places,
)
from analysis.stats.token_alignment import Streams
from analysis.stats.traces import sentence_trace, token_trace

TOKEN, SENTENCE, RATIO = "token", "sentence", "log_likelihood_ratio"
PATTERN = {
    "wrong_right": _("starts wrong, ends right"),
    "right": _("right throughout"),
    "right_wrong_right": _("right, wrong, right"),
}


def courses_of(tokens: Tokens | None) -> "Courses | None":
    """None without token records."""
    return None if tokens is None or tokens.table.empty else Courses(tokens)


@dataclass(frozen=True)
class Courses:
    """How a model's preference runs through its test cases, place by place."""

    tokens: Tokens

    @cached_property
    def streams(self) -> Streams:
        return Streams(self.tokens.table)

    @cached_property
    def places(self) -> dict[str, pd.DataFrame]:
        """By token, by sentence where sentences are known, and by log-likelihood ratio."""
        found = {TOKEN: token_places(self.streams), RATIO: common_places(self.streams)}
        if self.tokens.sentence_ends:
            found[SENTENCE] = sentence_places(self.streams, self.tokens.sentence_ends)
        return found

    @cached_property
    def found(self) -> dict[str, pd.DataFrame]:
        """`sequences` of each."""
        return {
            level: sequences(places, NATS if level == RATIO else PPL)
            for level, places in self.places.items()
        }

    def trace(self, level: str, item: int) -> pd.DataFrame:
        """An item's course by token or by sentence, from the text's start."""
        if level == TOKEN:
            return token_trace(self.streams, self.places[level], item)
        n = len(self.tokens.sentence_ends[item]["original"])
        return sentence_trace(self.places[level], item, n)
