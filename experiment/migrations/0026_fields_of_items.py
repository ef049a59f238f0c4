from django.db import migrations
from django.utils.text import slugify


def make_fields(apps, schema_editor):
    """A field for each that test cases name, with its subfields; those who curated their studies go on doing so."""
    item = apps.get_model("experiment", "Item")
    research_field = apps.get_model("experiment", "ResearchField")
    member = apps.get_model("experiment", "FieldMember")
    membership = apps.get_model("experiment", "Membership")
    names = item.objects.exclude(field="").order_by("field").values_list("field", flat=True).distinct()
    for name in names:
        field = research_field.objects.filter(name=name).first() or research_field.objects.create(
            slug=_unused_slug(research_field, name), name=name
        )
        rows = item.objects.filter(field=name).exclude(subfield="")
        for subfield in rows.order_by("subfield").values_list("subfield", flat=True).distinct():
            apps.get_model("experiment", "Subfield").objects.get_or_create(field=field, name=subfield)
        people = membership.objects.filter(
            study__items__field=name, role__in=("researcher", "curator")
        )
        # Leads first: of one who is both, the researcher stays
        for user, role in people.order_by("-role").values_list("user", "role").distinct():
            role = "lead" if role == "researcher" else "curator"
            member.objects.get_or_create(field=field, user_id=user, defaults={"role": role})


def _unused_slug(research_field, name):
    start = slugify(name)[:50] or "field"
    slug, n = start, 2
    while research_field.objects.filter(slug=slug).exists():
        slug, n = f"{start}-{n}", n + 1
    return slug


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0025_curation'),
    ]

    operations = [
        migrations.RunPython(make_fields, migrations.RunPython.noop),
    ]
