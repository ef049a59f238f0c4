"""Texts to try a strategy on, and how far what it gives is from one text at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from scoring.backends.causal_lm import layout
from scoring.backends.causal_lm.head import Backbone
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.strategies import Groups, Head, Single, Strategy
from scoring.domain.backend import LogProbs

ROOT, TRUNK, BRANCH = 16, 16, 12  # tokens: of an instruction, before two versions part, and after
EVERY = 8  # on real weights one position in so many is looked up: a vocabulary can cost as much as half a model


@dataclass(frozen=True)
class Gap:
    """Largest difference of a token's log-probability and of a text's mean, in nats; or why a strategy does not run."""

    of_token: float = 0.0
    of_mean: float = 0.0
    error: str = ""


class Trial:
    """Groups of texts that a model runs one at a time, once, and then as each strategy would.

    checked: (group, text) that are compared, where not all are; the others only stand in their way.
    """

    def __init__(
        self,
        backbone: Backbone,
        head: Head,
        groups: Groups,
        *,
        every: int = 1,
        checked: Sequence[tuple[int, int]] = (),
    ) -> None:
        self.backbone, self.head, self.groups, self.every = backbone, head, groups, every
        self.checked = checked or [
            (n, m) for n, group in enumerate(groups) for m in range(len(group))
        ]

    @cached_property
    def alone(self) -> list[LogProbs]:
        """What each text that is compared gets when it is all that the model sees."""
        single = Single(self.backbone, self.head, self.every)
        return single.logprobs([[self.groups[n][m] for n, m in self.checked]])[0]

    def gap(self, kind: type[Strategy]) -> Gap:
        """How far a strategy is from that."""
        try:
            results = kind(self.backbone, self.head, self.every).logprobs(self.groups)
        except (torch.OutOfMemoryError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 (an architecture may refuse in any way it likes)
            said = str(error).splitlines()
            return Gap(
                error=f"{type(error).__name__}: {said[0] if said else 'no reason given'}"[:200]
            )
        gaps = [
            (results[n][m] - alone)[~np.isnan(alone)]
            for (n, m), alone in zip(self.checked, self.alone, strict=True)
        ]
        if not all(np.isfinite(gap).all() for gap in gaps):
            return Gap(np.inf, np.inf)
        return Gap(
            max(float(np.abs(gap).max(initial=0.0)) for gap in gaps),
            max(abs(float(gap.mean())) for gap in gaps if gap.size),
        )


def random_groups(longest: int, vocabulary: int) -> list[list[Ids]]:
    """Two pairs of random texts that share an instruction: one text of `longest` tokens behind a version of it that is cut
    off where they part, and two short texts."""
    rng = np.random.default_rng(0)

    def some(n: int) -> Ids:
        return rng.integers(3, vocabulary, max(n, 1))

    instruction = some(min(ROOT, longest // 4))
    begun = np.concatenate([instruction, some(longest // 2 - len(instruction))])
    long = [np.concatenate([begun, some(n)]) for n in (BRANCH, longest - len(begun))]
    trunk = np.concatenate([instruction, some(min(TRUNK, longest // 4))])
    short = [np.concatenate([trunk, some(min(n, longest - len(trunk)))]) for n in (BRANCH, TRUNK)]
    return [long, short]


def real_groups(groups: Groups) -> list[list[Ids]]:
    """The longest text behind a version of it that is cut off where they part, and a cut-out of the shortest group.

    As few tokens as show what sharing does: this much is run under the real model, shared and alone.
    """
    longest = max(groups, key=lambda group: max(len(text) for text in group))
    text = max(longest, key=len)
    others = [other for other in longest if other is not text][:1]
    shared = min(layout.shared_length([text, *others]), len(text) - 1)
    begun = [other[: shared + BRANCH] for other in others]
    shortest = min(groups, key=lambda group: max(len(text) for text in group))
    root = layout.shared_length([text for group in groups for text in group])
    return [[*begun, text], _cut_out(shortest, root)]


def _cut_out(group: Sequence[Ids], root: int) -> list[Ids]:
    """A group's instruction, and what is around the place where its texts part."""
    shared = min(layout.shared_length(group), min(len(text) for text in group) - 1)
    begin = min(root, shared)
    return [
        np.concatenate([text[:begin], text[max(begin, shared - TRUNK) : shared + BRANCH]])
        for text in group
    ]
