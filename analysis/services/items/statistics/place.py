"""Where a version stands among its field's test cases, for people and for models."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User

from analysis.data.item_figures import people_figures
from analysis.services.items.statistics.models import Scored, ranks_of, scores
from analysis.stats.item_response import rank_differences
from experiment.domain.roles import Right
from experiment.models import Item, ResearchField
from experiment.models.studies import StudyQuerySet
from experiment.services.curation.difficulty import may_see_difficulty
from experiment.services.rights import studies_with

FEWEST_RANKED = 8  # judgments of a test case whose accuracy is ranked


@dataclass(frozen=True)
class Place:
    """Where it stands among the field's test cases: accuracy of people, mean rank by models as a share, from 0, the hardest.

    disagreement: analysis/stats/item_discrimination.rank_differences.
    """

    keys: tuple[str, ...]
    people: tuple[float, ...]
    models: tuple[float, ...]
    at: int
    disagreement: float


def place_of(item: Item, research_field: ResearchField, user: User) -> Place | None:
    """Without the rest of its statistics; None too where the user may not know the models' part yet."""
    if not may_see_difficulty(user, item):
        return None
    return place_among(item, scores(research_field, user), studies_with(user, Right.SEE_DATA))


def place_among(item: Item, scored: Scored, studies: StudyQuerySet) -> Place | None:
    """Among those of its field that models scored and people judged often enough; None where it is none of them."""
    shares = _shares(scored)
    people = people_figures(list(shares), studies)
    pks = sorted(pk for pk, found in people.items() if found.n >= FEWEST_RANKED)
    if item.pk not in pks or len(pks) < 3:
        return None
    keys = dict(Item.objects.filter(pk__in=pks).values_list("pk", "key"))
    accuracy = [people[pk].n_right / people[pk].n for pk in pks]
    ranks = [float(np.mean(shares[pk])) for pk in pks]
    at = pks.index(item.pk)
    disagreement = float(rank_differences(accuracy, ranks)[at])
    return Place(tuple(keys[pk] for pk in pks), tuple(accuracy), tuple(ranks), at, disagreement)


def _shares(scored: Scored) -> dict[int, list[float]]:
    """By item, its rank with each model as a share of those it scored: from 0, the hardest, to 1."""
    shares: dict[int, list[float]] = defaultdict(list)
    for by_item in scored.values():
        ranks = ranks_of([difficulty for difficulty, *_ in by_item.values()])
        for item, rank in zip(by_item, ranks, strict=True):
            shares[item].append((rank - 0.5) / len(by_item))
    return shares
