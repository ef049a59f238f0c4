"""What was read from an item's key and note, and from a study's contact, becomes columns."""

import re

from django.db import migrations, models

KEY = re.compile(r"brainbench-(human|machine)-(\d+)")
NO_CONTACT = "the study team (no address given yet)"


def fill_columns(apps, schema_editor):
    items = apps.get_model("experiment", "Item").objects.using(schema_editor.connection.alias)
    items.filter(key__startswith="brainbench-").update(collection="brainbench")
    for pk, key in items.filter(collection="brainbench").values_list("pk", "key"):
        if match := KEY.fullmatch(key):
            items.filter(pk=pk).update(collection_row=int(match[2]) - 1)
    published = items.filter(texts="as-published")
    published.filter(note__startswith="Damaged as published").update(is_damaged=True)
    repaired = set(items.filter(texts="repaired").values_list("key", flat=True))
    published.filter(key__in=repaired).update(is_damaged=True)
    studies = apps.get_model("experiment", "Study").objects.using(schema_editor.connection.alias)
    studies.filter(contact=NO_CONTACT).update(contact="")


class Migration(migrations.Migration):
    dependencies = [("experiment", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="is_damaged",
            field=models.BooleanField(
                default=False,
                help_text="The published versions are not what the authors meant.",
                verbose_name="damaged as published",
            ),
        ),
        migrations.AddField(
            model_name="item",
            name="collection",
            field=models.CharField(
                blank=True,
                choices=[("brainbench", "BrainBench")],
                default="",
                help_text="The published set that it came with.",
                max_length=20,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="item",
            name="collection_row",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="From 0, as the file counts.",
                null=True,
                verbose_name="row in the published file",
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="contact",
            field=models.CharField(
                blank=True,
                help_text="Whom participants can write to; a study without a contact cannot be opened.",
                max_length=300,
            ),
        ),
        migrations.RunPython(fill_columns, migrations.RunPython.noop),
    ]
