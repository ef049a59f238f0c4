"""Evidence that advice goes by: how strongly models and people prefer the original of each test case."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Q

from analysis.data import machines
from analysis.data.filters import ReportOptions
from analysis.data.runs import counting_runs
from analysis.stats.arrays import Floats
from experiment.models import Item, Judgment, Study
from scoring.domain.choosing.outcomes import JEFFREYS


@dataclass(frozen=True)
class Evidence:
    """Evidence of an adviser on test cases, in their order.

    towards_original: (n,) how strongly it prefers the original to the altered version: of a model, the difference of the
    logarithms of its perplexities, or the log-odds of its answers, in nats; of people, the log-odds of their choices; 0 is a
    tie, NaN nothing. runs: of which it is, by number; those of choices are negative.
    """

    towards_original: Floats
    runs: tuple[int, ...] = ()


def of_people(study: Study, kind: str, items: Sequence[Item]) -> Evidence:
    """The majority of their valid judgments, with the log-odds of its share: ln((k + 1/2) / (n - k + 1/2))."""
    judged = Judgment.objects.of(study, kind).valid().filter(trial__item__in=items).order_by()
    counted = judged.values_list("trial__item").annotate(
        right=Count("pk", filter=Q(correct=True)), n=Count("pk")
    )
    odds = {pk: math.log((k + JEFFREYS) / (n - k + JEFFREYS)) for pk, k, n in counted}
    return Evidence(np.array([odds.get(item.pk, np.nan) for item in items]))


def of_models(study: Study, names: Sequence[str], items: Sequence[Item]) -> dict[str, Evidence]:
    """Evidence from those runs of the models that a report of the study takes."""
    options = ReportOptions(models=tuple(names))
    counting = counting_runs(study, [item.pk for item in items], options, prefer_imported=False)
    found = machines.read(study, counting, options, others=names)
    scores = found.scores[found.scores["condition"] == "full"]
    numbers = {name: n for n, name in enumerate(found.models["name"])}
    evidence = {}
    for name in names:
        own = scores[scores["model"] == numbers.get(name)]
        odds = dict(zip(own["item"], own["margin_nats"], strict=True))
        runs = tuple(sorted(set(own["run"].astype(int).tolist())))
        strength = np.array([odds.get(item.pk, np.nan) for item in items])
        evidence[name] = Evidence(strength, runs)
    return evidence
