"""Titles of studies become unique: of several with the same, all but the oldest get their short name after it."""

from itertools import chain, count

from django.db import migrations, models

MAX_LENGTH = 200


def rename(apps, schema_editor):
    studies = apps.get_model("experiment", "Study").objects.using(schema_editor.connection.alias)
    taken = set()
    for study in studies.order_by("pk"):
        tails = chain(("", f" ({study.slug})"), (f" ({study.slug} {n})" for n in count(2)))
        titles = (study.title[: MAX_LENGTH - len(tail)] + tail for tail in tails)
        title = next(title for title in titles if title not in taken)
        taken.add(title)
        if title != study.title:
            studies.filter(pk=study.pk).update(title=title)


class Migration(migrations.Migration):
    dependencies = [("experiment", "0015_participant_lists")]

    operations = [
        migrations.RunPython(rename, migrations.RunPython.noop, elidable=False),
        migrations.AlterField(
            model_name="study",
            name="title",
            field=models.CharField(
                error_messages={"unique": "Another study of this site has this title."},
                max_length=200,
                unique=True,
            ),
        ),
    ]
