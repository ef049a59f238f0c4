"""Material to fuzz: a study that takes participants, a field with test cases in every state, and a researcher."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import connection

from experiment.models import Channel, Item, ResearchField, Study
from experiment.services.channels import save_channel
from experiment.services.study_language import load_texts
from experiment.services.study_setup import create_study, pin_items, set_recruitment
from lib import po

TEXT = "Bread is old, and so is its study. In trial {n} we baked {what} loaves a day. The dough [[rose early, fell late]]."
N_ITEMS = {"human": 8, "machine": 4, "catch": 3, "practice": 1}
PASSWORD = "of the fuzzed site alone"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Material:
    study: Study
    research_field: ResearchField
    user: User


def prepare(name: str = "fuzz") -> Material:
    """Make it in the database at hand, under names that begin like this."""
    user = User.objects.create_superuser(f"{name}-boss", password=PASSWORD)
    research_field = ResearchField.objects.create(slug=name, name=name)
    research_field.members.add(user, through_defaults={"role": "lead"})
    for subfield in ("Crust", "Crumb"):
        research_field.subfields.create(name=subfield)
    return Material(make_study(name, user), research_field, user)


def make_study(name: str, user: User | None = None) -> Study:
    """An open study of few trials, with a channel of a recruitment site."""
    study = create_study(
        name, "brainbench", contact="lab@example.org", by=user, title=name, **SMALL
    )
    items = [_item(name, kind, n) for kind, most in N_ITEMS.items() for n in range(most)]
    Item.objects.bulk_create(items)
    pin_items(study, items)
    save_channel(
        Channel(
            study=study,
            code="prolific",
            label="Prolific",
            platform=Channel.Platform.PROLIFIC,
            completion_url="https://app.prolific.com/submissions/complete?cc=ABC",
            screen_out_url="https://app.prolific.com/submissions/complete?cc=OUT",
        ),
        user,
    )
    load_texts(
        study, [po.Message("Continue", ("Go on",)), po.Message("Please choose", ("Choose",))]
    )
    return set_recruitment(study, Study.Recruitment.OPEN)


SMALL = {"human_items": 3, "machine_items": 1, "catch_items": 1}


def _item(name: str, kind: str, n: int) -> Item:
    is_machine = kind == "machine"
    item = Item(
        key=f"{name}-{kind}-{n}",
        field=name,
        kind=kind if kind in ("catch", "practice") else "test",
        source="machine" if is_machine else "human",
        generator="GPT-4" if is_machine else "",
        doi="" if kind in ("catch", "practice") else f"10.1234/{name}.{kind}.{n}",
        markup=TEXT.format(n=n, what=kind),
        status=Item.Status.ACCEPTED,
    )
    item.derive_texts()
    return item


def row_counts() -> dict[str, int]:
    """How many rows every table of ours has."""
    tables = sorted(connection.introspection.django_table_names(include_views=False))
    quote = connection.ops.quote_name
    sql = " UNION ALL ".join(f"SELECT '{name}', COUNT(*) FROM {quote(name)}" for name in tables)  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return dict(cursor.fetchall())
