"""Evidence of the members of a team on each trial, as one table of signed confidences, from a study's trials and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.data.dataset import SourceData
from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.results import Member, MemberKind, Ratings, Team
from lib.points import points

Names = tuple[str, ...]  # of a team's members


@dataclass(frozen=True)
class Evidence:
    """One row per human trial, also of teams of models; one per item in a study without human trials.

    members: humans first. item: (n,) numbers from 0. truth: (n,) the original's side, +1 for B and -1 for A.
    signed: (n, members) signed confidence, > 0 for side B: a person's rating in points of the slider (1..100), a
        model's log PPL(A) - log PPL(B), nats per token; 0 is a tie.
    as_published: (n, members) the same with a model's PPL(A) - PPL(B), which the published combination takes.
    participant, trial: (n, people) who judged, and the number of that judgment; people is 0 where rows are items. Where
        several humans are members, a row joins different participants' judgments of its item: each judgment is the
        first of one row, the second of one, ...
    people: the columns of participant and trial that the human members have, in their order; None: the first ones.
    n_among: members from which these were chosen; None: they are all.
    """

    members: tuple[Member, ...]
    item: Ints
    truth: Floats
    signed: Floats
    as_published: Floats
    participant: Ints
    trial: Ints
    people: tuple[int, ...] | None = None
    n_among: int | None = None

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
    def points(self) -> Floats:
        """(n, members) what each member's choice counts: 1 right, 1/2 a tie, 0 wrong."""
        return points(self.towards_truth)

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
            as_published=self.as_published[:, chosen],
            people=tuple(self.people_columns[k] for k in chosen if k < self.n_humans),
            n_among=self.n_among or len(self.members),
        )

    def rows(self, chosen: Bools | Ints) -> "Evidence":
        """The chosen rows."""
        return replace(
            self,
            **{
                name: getattr(self, name)[chosen]
                for name in ("item", "truth", "signed", "as_published", "participant", "trial")
            },
        )

    def people_as_one(self, values: Floats) -> Floats:
        """(n, columns) of values (n, members): one column for the people together, their sum, and one per model.

        People are any participants: which of them is the first means nothing, so they share one weight.
        """
        models = values[:, self.n_humans :]
        if not self.n_humans:
            return models
        return np.column_stack([values[:, : self.n_humans].sum(axis=1), models])


def need_two_items(evidence: Evidence) -> None:
    """Raises NotEnough below two items: nothing can be held out."""
    n = len(np.unique(evidence.item))
    if n < 2:
        found = "There is one test case" if n else "There is no test case"
        raise NotEnough(
            f"{found} on which all members of the team gave a judgment.",
            "At least two test cases are needed, because a team is evaluated on test cases that were not used in its fit.",
        )


RATINGS = (
    "A person's confidence is the recorded position of the slider. An untouched slider counts with its position, "
    "as in the published analysis. If nothing is recorded, the median of the recorded ratings is used (50 if there "
    "is none)."
)
UNRATED = 50.0
HUMAN = "human"  # the name of a team's first person
HUMAN_DISPLAY_NAMES = ("Human", "Second human", "Third human")


@dataclass(frozen=True)
class Gathered:
    """`missing`: member -> number of judged items without its score, which are left out for all members.

    n_rows: rows that all items would have given. n_empty: ratings that nothing is recorded of; median: what they count as.
    """

    evidence: Evidence
    missing: Mapping[str, int]
    n_rows: int
    n_empty: int
    median: float

    @property
    def ratings(self) -> Ratings:
        """How people's confidence was taken."""
        return Ratings(self.n_empty, self.median, RATINGS)


def human_name(n: int) -> str:
    """The name of the n-th human member, from 0.

    >>> human_name(0), human_name(1)
    ('human', 'human-2')
    """
    return HUMAN if n == 0 else f"{HUMAN}-{n + 1}"


def gather(data: SourceData, models: Sequence[int], n_humans: int = 1) -> Gathered:
    """The evidence of `n_humans` people and the models of these numbers, on the items that all of them judged.

    A trial's sides are the participant's; where they are not known, as in the published data, the sides of the scores;
    else they are drawn by `data.seed`, one for each item.
    Raises NotEnough where no item is left.
    """
    members = _members(data, models, n_humans)
    sides = _sides(data, models)
    trials = data.trials
    if trials.empty and n_humans:
        data.need_trials()
    numbers = np.asarray(models, dtype=np.int64)
    towards, difference = data.difficulty_nats[numbers].T, data.difficulty[numbers].T
    scored: Bools = np.asarray(np.isfinite(towards).all(axis=1))
    rating = trials["confidence"].to_numpy(dtype=float)
    empty = np.isnan(rating)
    median = float(np.median(rating[~empty])) if (~empty).any() else UNRATED
    if trials.empty:
        judged: Bools = np.asarray(np.isfinite(towards).any(axis=1))
        item = np.flatnonzero(judged & scored)
        people = number = np.empty((len(item), 0), dtype=np.int64)
        n_rows = int(judged.sum())
    else:
        n_rows = len(trials)
        judged = np.asarray(data.item_counts > 0)
        number = np.flatnonzero(scored[trials["item"].to_numpy()])[:, None]
        if n_humans > 1:
            number = _joined(trials["item"].to_numpy(), number[:, 0], n_humans, data.seed)
        people = trials["participant"].to_numpy()[number]
        item = trials["item"].to_numpy()[number[:, 0]]
    if not len(item):
        raise NotEnough(
            "There is no test case that all members of the team judged.",
            f"At least {n_humans} participants must have judged the same test case, and all chosen models scored it."
            if n_humans > 1
            else "Score the judged test cases with all chosen models, or choose others.",
        )
    sides = sides[item]
    if number.shape[1]:
        own = trials["original_side"].to_numpy(dtype=object)[number[:, 0]]
        sides = np.where((own == "A") | (own == "B"), own, sides)
    truth = np.where(sides == "B", 1.0, -1.0)
    sign = np.where(trials["is_correct"].to_numpy(dtype=bool), 1.0, -1.0)
    confidence = sign * np.where(empty, median, rating)
    columns = [confidence[number[:, h]] for h in range(n_humans)]
    signed, as_published = (
        np.column_stack([*columns, of_models[item]]) * truth[:, None]
        for of_models in (towards, difference)
    )
    missing = {
        m.name: int((judged & ~np.isfinite(column)).sum())
        for m, column in zip(members[n_humans:], towards.T, strict=True)
    }
    return Gathered(
        Evidence(members, item, truth, signed, as_published, people, number),
        missing,
        n_rows,
        int(empty.sum()),
        median,
    )


def _joined(item: Ints, usable: Ints, n_humans: int, seed: int) -> Ints:
    """(rows, humans) numbers of the usable trials: a shuffled circle of each item's trials, each with those that follow it."""
    shuffled = np.random.default_rng(seed).permutation(usable)
    order = shuffled[np.argsort(item[shuffled], kind="stable")]
    counts = np.bincount(item[order])
    start, size = (np.cumsum(counts) - counts)[item[order]], counts[item[order]]
    place = np.arange(len(order)) - start
    circle = np.column_stack([order[start + (place + h) % size] for h in range(n_humans)])
    joined: Ints = circle[size >= n_humans]
    return joined[np.argsort(joined[:, 0])]


def _sides(data: SourceData, models: Sequence[int]) -> npt.NDArray[np.object_]:
    """(items,) sides of the originals for those trials that do not say theirs: of the scores, else drawn."""
    drawn = np.random.default_rng(data.seed).integers(0, 2, len(data.items))
    side = np.where(drawn == 1, "B", "A").astype(object)
    known = data.full[data.full["original_side"].isin(("A", "B"))]
    # Later rows overwrite earlier ones: the chosen models' own sides last
    for rows in (known, known[known["model"].isin(models)]):
        side[rows["item"].to_numpy()] = rows["original_side"].to_numpy(dtype=object)
    return side


def _members(data: SourceData, models: Sequence[int], n_humans: int) -> tuple[Member, ...]:
    people = [
        Member(
            human_name(h),
            MemberKind.HUMAN,
            HUMAN_DISPLAY_NAMES[h] if h < len(HUMAN_DISPLAY_NAMES) else f"Human {h + 1}",
        )
        for h in range(n_humans)
    ]
    rows = data.models.iloc[list(models)]
    machines = [
        Member(
            str(r["name"]),
            MemberKind.MODEL,
            str(r["display_name"] or r["name"]),
            str(r["family"] or ""),
            str(r["method"]),
        )
        for r in rows.to_dict("records")
    ]
    return (*people, *machines)
