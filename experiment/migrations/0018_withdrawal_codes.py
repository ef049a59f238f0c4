"""Participants' own codes are kept as a keyed digest and sealed, no longer in clear. They stay the same codes."""

from django.conf import settings
from django.db import migrations, models

import experiment.domain.withdrawal_code
from experiment.domain.withdrawal_code import digest, new_code, seal, unseal

CHUNK = 2000


def chunks(apps, schema_editor):
    people = apps.get_model("experiment", "Participant").objects.using(schema_editor.connection.alias)
    names = ("kind", "public_id", "withdrawal_code", "code_digest", "sealed_code")
    last = 0
    while rows := list(people.filter(pk__gt=last).order_by("pk").only(*names)[:CHUNK]):
        yield people, rows
        last = rows[-1].pk


def seal_codes(apps, schema_editor):
    key = settings.WITHDRAWAL_KEY
    for people, rows in chunks(apps, schema_editor):
        # Imported people were never given theirs
        rows = [row for row in rows if row.kind != "imported"]
        for row in rows:
            row.code_digest = digest(row.withdrawal_code, key)
            row.sealed_code = sealed(row.withdrawal_code, key, row.public_id.hex)
        people.bulk_update(rows, ["code_digest", "sealed_code"])


def sealed(code, key, owner):
    try:
        return seal(code, key, owner)
    except ValueError:  # no code that the site gave out: it can be found, not shown
        return ""


def unseal_codes(apps, schema_editor):
    for people, rows in chunks(apps, schema_editor):
        for row in rows:
            code = unseal(row.sealed_code, settings.WITHDRAWAL_KEY, row.public_id.hex)
            row.withdrawal_code = code or new_code()
        people.bulk_update(rows, ["withdrawal_code"])


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0017_export_queries'),
    ]

    operations = [
        migrations.AddField(
            model_name='participant',
            name='code_digest',
            field=models.CharField(editable=False, max_length=64, null=True, unique=True),
        ),
        migrations.AddField(
            model_name='participant',
            name='sealed_code',
            field=models.CharField(blank=True, editable=False, max_length=20),
        ),
        migrations.RunPython(seal_codes, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='participant',
            name='withdrawal_code',
            field=models.CharField(max_length=20, null=True),
        ),
        migrations.RunPython(migrations.RunPython.noop, unseal_codes),
        migrations.RemoveField(model_name='participant', name='withdrawal_code'),
    ]
