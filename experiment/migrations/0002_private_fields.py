"""Fields become private: every text gets a field, and each study keeps the use of those that it draws from."""

from itertools import count

from django.conf import settings
from django.db import migrations, models
from django.db.models import Q
from django.utils.text import slugify

# As services/usable.py has it: the published set and the built-in texts
OF_SITE = Q(is_demo=True) | ~Q(collection="")


def give_fields(apps, schema_editor):
    """Study files could bring accepted texts of no field, or of one that did not exist: they become a field of who brought them."""
    Item = apps.get_model("experiment", "Item")
    User = apps.get_model(*settings.AUTH_USER_MODEL.split("."))
    own = Item.objects.exclude(OF_SITE).order_by()
    for user in User.objects.filter(is_superuser=False, pk__in=own.filter(field="").values("created_by")):
        name = _unused(apps, "name", f"test cases of {user.username}"[:70])
        own.filter(field="", created_by=user).update(field=name)
    fields = apps.get_model("experiment", "ResearchField").objects
    named = set(own.exclude(field="").values_list("field", flat=True))
    for name in sorted(named - set(fields.values_list("name", flat=True))):
        items = own.filter(field=name)
        made = fields.create(name=name, slug=_unused(apps, "slug", slugify(name)[:50] or "field"))
        for subfield in sorted(set(items.values_list("subfield", flat=True)) - {""}):
            made.subfields.create(name=subfield)
        for writer in sorted(set(items.values_list("created_by", flat=True)) - {None}):
            made.memberships.create(user_id=writer, role="lead")


def _unused(apps, column, start):
    taken = set(apps.get_model("experiment", "ResearchField").objects.values_list(column, flat=True))
    taken |= set(apps.get_model("experiment", "Item").objects.values_list("field", flat=True)) | {"new"}
    names = (start if n == 1 else f"{start}-{n}" for n in count(1))
    return next(name for name in names if name not in taken)


def share_with_studies(apps, schema_editor):
    fields = apps.get_model("experiment", "ResearchField").objects.in_bulk(field_name="name")
    pins = apps.get_model("experiment", "StudyItem").objects.exclude(
        Q(item__is_demo=True) | ~Q(item__collection="")
    )
    for study, name in pins.order_by().values_list("study", "item__field").distinct():
        if name in fields:
            fields[name].shared_with.add(study)


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0001_release'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='fieldmember',
            name='field_member_role_known',
        ),
        migrations.AddField(
            model_name='researchfield',
            name='is_shared',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='researchfield',
            name='shared_with',
            field=models.ManyToManyField(blank=True, related_name='shared_fields', to='experiment.study'),
        ),
        migrations.AlterField(
            model_name='fieldmember',
            name='role',
            field=models.CharField(choices=[('lead', "lead: does what a curator does, and manages the field's subfields, people and rules"), ('curator', 'curator: writes and reviews test cases'), ('reader', 'reader: takes accepted test cases into their own studies')], default='curator', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='fieldmember',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ('lead', 'curator', 'reader'))), name='field_member_role_known'),
        ),
        # Last: PostgreSQL alters no table whose rows this transaction has changed
        migrations.RunPython(give_fields, migrations.RunPython.noop),
        migrations.RunPython(share_with_studies, migrations.RunPython.noop),
    ]
