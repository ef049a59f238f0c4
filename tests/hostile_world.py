"""A study and a field in which everything that people can write holds what would do something in HTML."""

from dataclasses import dataclass

from experiment.domain.markup import Alternation, Plain, Segment, render
from experiment.models import Item, ResearchField, Study
from experiment.services.curation import remarks
from experiment.services.study_setup import pin_items
from tests.factories import make_study, make_user
from tests.hostile import payloads

PER_ITEM = 50
OPENING = "Sleep matters to every animal. Little is known of it. "


@dataclass(frozen=True)
class World:
    study: Study
    research_field: ResearchField
    items: list[Item]


def hostile_text(some: list[str]) -> str:
    """Unaltered text and alternations, each payload in one of them."""
    segments: list[Segment] = [Plain(OPENING)]
    for n, payload in enumerate(some):
        if n % 3:
            segments += [Plain(f" {payload} ")]
        else:
            segments += [Alternation(f"{payload} rose", f"{payload} fell")]
    return render(segments)


def make_world(every: list[str]) -> World:
    study = make_study()
    short = iter(payloads(longest=80) * 3)
    user = make_user(f"ruth {next(short)}", study, is_superuser=True, is_staff=True)
    research_field = ResearchField.objects.create(slug="memory", name=next(short))
    research_field.members.add(user, through_defaults={"role": "lead"})
    for _ in range(30):
        research_field.subfields.create(name=next(short), purpose=every[0])
        research_field.saved_views.create(user=user, name=next(short), query=f"q={next(short)}")
    statuses = ("draft", "in_review", "accepted")
    items = []
    for n in range(0, len(every), PER_ITEM):
        some = every[n : n + PER_ITEM]
        item = Item.objects.create(
            key=f"memory-{next(short)}"[:80],
            field=research_field.name,
            subfield=research_field.subfields.all()[n // PER_ITEM].name,
            generator=next(short),
            doi=next(short),
            note=" ".join(some),
            markup=hostile_text(some),
            status=statuses[n // PER_ITEM % len(statuses)],
            created_by=user,
        )
        items.append(item)
        for payload in some:
            thread = remarks.add_comment(item, user, f"What of {payload}", quote=payload)
            remarks.answer(thread, user, payload)
        for finding, payload in zip(remarks.standing(item).unexplained, some, strict=False):
            remarks.explain(item, finding.key, payload, user)
        item.reviews.create(
            reviewer=user, verdict="revise", text=some[0], sha256=item.reviewed_sha256
        )
        item.changes.create(action="status", by=user, reason=some[-1])
    pin_items(study, [item for item in items if item.status == "accepted"])
    return World(study, research_field, items)
