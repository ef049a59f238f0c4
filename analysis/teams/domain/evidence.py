"""What the members of a team say on each trial, as one table of signed confidences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.results import Member, Team

Names = tuple[str, ...]  # of a team's members


@dataclass(frozen=True)
class Evidence:
    """One row per human trial, also of teams of models; one per item in a study without human trials.

    members: humans first. item: (n,) numbers from 0. truth: (n,) the original's side, +1 for B and -1 for A.
    signed: (n, members) signed confidence, > 0 for side B: a person's rating in points of the slider (1..100), a
        model's PPL(A) - PPL(B); 0 is no choice, which counts as wrong.
    participant, trial: (n, people) who judged, and the number of that judgment; people is 0 where rows are items. Where
        several humans are members, a row joins different participants' judgments of its item: each judgment is the
        first of one row, the second of one, ...
    people: the columns of participant and trial that the human members have, in their order; None: the first ones.
    """

    members: tuple[Member, ...]
    item: Ints
    truth: Floats
    signed: Floats
    participant: Ints
    trial: Ints
    people: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.item)

    @property
    def names(self) -> Names:
        return tuple(m.name for m in self.members)

    @property
    def team(self) -> Team:
        return Team.of(self.members)

    @property
    def people_columns(self) -> tuple[int, ...]:
        return tuple(range(self.n_humans)) if self.people is None else self.people

    @property
    def n_humans(self) -> int:
        return sum(m.is_human for m in self.members)

    @property
    def towards_truth(self) -> Floats:
        """(n, members) confidence in the original: > 0 where the member is right."""
        return self.signed * self.truth[:, None]

    @property
    def is_right(self) -> Bools:
        """(n, members)."""
        return self.towards_truth > 0

    def of(self, names: Sequence[str]) -> "Evidence":
        """The same rows with these members alone, in the order of `members`.

        Raises:
            KeyError: one of them is not a member.
        """
        unknown = set(names) - set(self.names)
        if unknown:
            raise KeyError(", ".join(sorted(unknown)))
        chosen = [k for k, m in enumerate(self.members) if m.name in names]
        return replace(
            self,
            members=tuple(self.members[k] for k in chosen),
            signed=self.signed[:, chosen],
            people=tuple(self.people_columns[k] for k in chosen if k < self.n_humans),
        )

    def rows(self, chosen: Bools | Ints) -> "Evidence":
        """The chosen rows."""
        return replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in ("item", "truth", "signed", "participant", "trial")
            },
        )

    @property
    def features(self) -> Floats:
        """(n, columns) one column for the people together, the sum of their signed confidences, and one per model.

        People are any participants: which of them is the first means nothing, so they share one weight.
        """
        models = self.signed[:, self.n_humans :]
        if not self.n_humans:
            return models
        return np.column_stack([self.signed[:, : self.n_humans].sum(axis=1), models])


def need_two_items(evidence: Evidence) -> None:
    """Raises NotEnough below two items: nothing can be held out."""
    n = len(np.unique(evidence.item))
    if n < 2:
        found = "There is one item" if n else "There is no item"
        raise NotEnough(
            f"{found} on which all members of the team gave a judgment.",
            "What a team learns from some items is tried on others: at least two are needed.",
        )
