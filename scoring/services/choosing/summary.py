"""A summary of the choices of a run, test case by test case and as a whole."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from experiment.models import Item, Study
from lib.points import TIE
from scoring.domain.choosing.odds import FAULTS
from scoring.domain.choosing.outcomes import ItemChoice, Reply, outcome
from scoring.models import ChoiceRun, ModelChoice

Form = ChoiceRun.Form
READ = "read"  # the state of an answer that is a choice


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices of a run. Test cases without an answer in both orders are not judged; ties count half.

    n_items: asked about. points: sum over those judged. share_a: of the answers that name A, a tie counting half: the mean of
    both orders, thus 1/2 without a preference for a side, also where more answers of one order cannot be read; None where an order has none.
    states: answers by how they ended, `read` where they are a choice.
    unused: answers whose probabilities of tokens are not used, by why, of `odds.FAULTS`.
    n_unstated: answers in words that choose a side and state no confidence. n_below_half: those that state one below 50 percent.
    """

    n_items: int
    n_judged: int
    points: float
    n_ties: int
    n_flips: int
    share_a: float | None
    states: Mapping[str, int]
    unused: Mapping[str, int]
    n_unstated: int
    n_below_half: int

    @property
    def accuracy(self) -> float | None:
        """The accuracy over the test cases that were judged."""
        return self.points / self.n_judged if self.n_judged else None

    @property
    def accuracy_of_all(self) -> float | None:
        """With those that were not judged counted as wrong."""
        return self.points / self.n_items if self.n_items else None

    @property
    def n_unused(self) -> int:
        return sum(self.unused.values())

    @property
    def why_unused(self) -> str:
        """In words that go on after a colon."""
        return "; ".join(f"in {n:,} answers, {FAULTS[fault]}" for fault, n in self.unused.items())

    @property
    def n_answers(self) -> int:
        return sum(self.states.values())

    @property
    def n_unread(self) -> int:
        return self.n_answers - self.states.get(READ, 0)


def outcomes(choices: QuerySet[ModelChoice]) -> dict[int, ItemChoice | None]:
    """Item -> what its answers come to; None where an order has none that can be read."""
    replies: dict[int, list[Reply]] = {}
    columns = ("item_id", "original_side", "side", "confidence", "log_odds")
    for item, original, side, confidence, odds in choices.order_by("pk").values_list(*columns):
        of_item = replies.setdefault(item, [])
        if side or odds is not None:
            of_item.append(Reply(original, side, confidence, odds))
    return {item: outcome(of_item) for item, of_item in replies.items()}


def _share_a(read: Counter[tuple[str, str]]) -> float | None:
    """read: (side of the original, side chosen or "" in a tie) -> number of answers."""
    shares = []
    for original in "AB":
        n_a, n_b, n_tied = (read[original, side] for side in ("A", "B", ""))
        if not n_a + n_b + n_tied:
            return None
        shares.append((n_a + TIE * n_tied) / (n_a + n_b + n_tied))
    return sum(shares) / 2


def summarise(run: ChoiceRun, study: Study | None = None, source: str = "") -> Choices:
    """The choices of a run so far about test cases that a study shows, by default the run's own; and of a source of them."""
    shown = Item.objects.shown_by([study or run.study])
    choices = run.choices.filter(item__in=shown.values("pk"))
    if source:
        choices = choices.filter(item__source=source)
    found = outcomes(choices)
    judged = [one for one in found.values() if one is not None]
    faults = Counter(choices.exclude(unused="").values_list("unused", flat=True))
    written = choices.none() if run.form == Form.LIKELIHOOD else choices.exclude(side="")
    only = ("original_side", "side", "log_odds", "finish")
    states: Counter[str] = Counter()
    read: Counter[tuple[str, str]] = Counter()
    for row in choices.only(*only).iterator():
        states[READ if row.is_read else row.state] += 1
        if row.is_read:
            read[row.original_side, row.side] += 1
    return Choices(
        n_items=len(found),
        n_judged=len(judged),
        points=math.fsum(one.points for one in judged),
        n_ties=sum(one.is_tie for one in judged),
        n_flips=sum(one.is_flip for one in judged),
        share_a=_share_a(read),
        states=dict(states.most_common()),
        unused=dict(faults.most_common()),
        n_unstated=written.filter(confidence=None, is_below_half=False).count(),
        n_below_half=written.filter(is_below_half=True).count(),
    )
