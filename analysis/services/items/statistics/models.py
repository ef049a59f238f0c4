"""What models make of one version, and its rank among the field's test cases with each."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User

from analysis.data.item_figures import whole_text_scores
from experiment.models import Item, ResearchField
from experiment.services.curation.difficulty import difficulty_seen_by
from scoring.models import LanguageModel, ScoringRun


@dataclass(frozen=True)
class ModelPart:
    """difficulty: ppl(altered) - ppl(original). rank: from 1, the hardest, of n of the field's that the model scored."""

    name: str
    difficulty: float
    rank: float
    n: int
    is_early: bool  # published before its training data end
    run: int
    has_trace: bool

    @property
    def is_right(self) -> bool:
        return self.difficulty > 0


# By model, and by item: difficulty, run, whether it can have a trace
Scored = Mapping[int, Mapping[int, tuple[float, int, bool]]]


def scores(research_field: ResearchField, user: User) -> Scored:
    """Scores of the field's test cases whose difficulty the person may know."""
    items = Item.objects.filter(difficulty_seen_by(user, research_field), kind=Item.Kind.TEST)
    columns = ("run__language_model", "item", "run", "run__backend", "ppl_original", "ppl_altered")
    found: dict[int, dict[int, tuple[float, int, bool]]] = defaultdict(dict)
    for model, item, run, backend, original, altered in whole_text_scores(
        items.values("pk")
    ).values_list(*columns):
        can_trace = backend != ScoringRun.Backend.IMPORTED
        found[model][item] = (altered - original, run, can_trace)
    return found


def model_parts(item: Item, scored: Scored) -> tuple[ModelPart, ...]:
    """The hardest for them first."""
    parts = []
    known = LanguageModel.objects.in_bulk(scored)
    for pk, by_item in scored.items():
        if item.pk not in by_item:
            continue
        name, cutoff = known[pk].display_name, known[pk].training_cutoff
        is_early = bool(item.publication_date and cutoff and item.publication_date <= cutoff)
        difficulty, run, can_trace = by_item[item.pk]
        ranks = dict(zip(by_item, ranks_of([d for d, *_ in by_item.values()]), strict=True))
        rank = ranks[item.pk]
        parts.append(ModelPart(name, difficulty, rank, len(by_item), is_early, run, can_trace))
    return tuple(sorted(parts, key=lambda part: (part.rank / part.n, part.name)))


def ranks_of(values: Sequence[float]) -> list[float]:
    from scipy.stats import rankdata

    return [float(rank) for rank in rankdata(values)]
