"""What models say of a version's present text, for those who may know it: nobody whose own verdict is still to come."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from experiment.models import Item, ResearchField
from experiment.services.curation import reviews
from experiment.services.curation.difficulty import may_see_difficulty
from experiment.services.curation.writers import writers_of
from scoring.models import ItemScreening, ModelReview


@dataclass(frozen=True, slots=True)
class Opinions:
    """Of each model its latest verdict, and how hard it finds the text."""

    reviews: tuple[ModelReview, ...] = ()
    screenings: tuple[ItemScreening, ...] = ()


def opinions(item: Item, user: User) -> Opinions:
    """What the user may see; empty for who could still review the text."""
    research_field = ResearchField.objects.filter(name=item.field).first()
    if research_field is None or reviews.is_awaited(item, research_field, user):
        return Opinions()
    given: tuple[ModelReview, ...] = ()
    if item.is_frozen or reviews.own(item, user) or user in writers_of(item):
        found = item.model_reviews.filter(sha256=item.sha256).exclude(verdict="")
        latest = {r.run.model_name: r for r in found.select_related("run").order_by("pk")}
        given = tuple(latest.values())
    if not may_see_difficulty(user, item):
        return Opinions(given)
    return Opinions(given, tuple(item.screenings.filter(sha256=item.sha256)))
