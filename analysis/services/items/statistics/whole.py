"""What is known of one version: by study, by model, beside the field's other test cases. Nothing that its reader may not see."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q

from analysis.data.item_figures import known_cutoffs
from analysis.services.items.marks import marks_for
from analysis.services.items.statistics.discrimination import rest_correlation
from analysis.services.items.statistics.models import ModelPart, model_parts, scores
from analysis.services.items.statistics.people import Said, StudyPart, comments, study_parts
from analysis.services.items.statistics.place import Place, place_among
from analysis.stats import MissingResult
from analysis.stats.item_differences import Mark
from analysis.stats.item_response import ItemRest
from experiment.domain.roles import Right
from experiment.models import Item, ResearchField
from experiment.services.curation.difficulty import may_see_difficulty
from experiment.services.rights import studies_with


@dataclass(frozen=True)
class Statistics:
    """models: None where this person may not know them yet. trace_study: through which study traces are looked at."""

    people: tuple[StudyPart, ...]
    models: tuple[ModelPart, ...] | None
    place: Place | None
    rest: ItemRest | MissingResult
    comments: tuple[Said, ...]
    may_read_comments: bool
    marks: tuple[Mark, ...]
    early_for: tuple[str, ...]
    trace_study: str


def statistics(item: Item, research_field: ResearchField, user: User) -> Statistics:
    studies = studies_with(user, Right.SEE_DATA)
    people = study_parts(item, studies)
    seen = may_see_difficulty(user, item)
    ranked = scores(research_field, user) if seen else {}
    cutoffs = known_cutoffs()
    published = item.publication_date
    early = dict.fromkeys(name for name, day in cutoffs if published and published <= day)
    commenting = studies_with(user, Right.IDENTIFY)
    shown = Q(study_items__item=item) | Q(item_counts__item=item, item_counts__assigned__gt=0)
    traced = studies.filter(shown).order_by("slug").values_list("slug", flat=True)
    return Statistics(
        people,
        model_parts(item, ranked) if seen else None,
        place_among(item, ranked, studies),
        rest_correlation(item, studies),
        comments(item, commenting),
        commenting.exists(),
        marks_for(item, user),
        tuple(early),
        traced.first() or "",
    )
