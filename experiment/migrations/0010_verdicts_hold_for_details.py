"""A verdict holds for a version's details, too: each version gets a hash of both, and changes of a note are told apart from others."""

import hashlib
import json

from django.db import migrations, models

# As domain/item_columns.py has it
REVIEWED = ("markup", "expert_answer", "kind", "source", "generator", "subfield", "doi", "publication_date", "categories", "template_id", "made_from")
BATCH = 500


def hash_versions(apps, schema_editor):
    """Verdicts on the present text hold for the present details: nobody knows others that they were given on."""
    Item, Review = apps.get_model("experiment", "Item"), apps.get_model("experiment", "Review")
    keys = list(Item.objects.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH):
        items = list(Item.objects.filter(pk__in=keys[start : start + BATCH]))
        for item in items:
            values = {name: getattr(item, name) for name in REVIEWED}
            text = json.dumps(values, sort_keys=True, default=str)
            item.reviewed_sha256 = hashlib.sha256(text.encode()).hexdigest()
        Item.objects.bulk_update(items, ["reviewed_sha256"])
    for review in Review.objects.filter(sha256=models.F("item__sha256")).select_related("item"):
        Review.objects.filter(pk=review.pk).update(sha256=review.item.reviewed_sha256)


def tell_apart(apps, schema_editor):
    changes = apps.get_model("experiment", "ItemChange").objects
    for change in list(changes.filter(action="details").only("action", "before", "after")):
        action = "verdict" if "verdict" in change.before else "note" if set(change.after) == {"note"} else ""
        if not action and "expert_answer" in change.after:
            action = "text"  # as an import of questions did not have it
        if action:
            changes.filter(pk=change.pk).update(action=action)


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0009_count_damaged_links'),
    ]

    operations = [
        migrations.AddField(
            model_name='item',
            name='reviewed_sha256',
            field=models.CharField(default='', editable=False, max_length=64),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='itemchange',
            name='action',
            field=models.CharField(choices=[('created', 'created'), ('text', 'changed the text'), ('details', 'changed its details'), ('note', 'changed the note'), ('verdict', 'took a verdict back'), ('status', 'changed the state')], max_length=10),
        ),
        migrations.RunPython(hash_versions, migrations.RunPython.noop),
        migrations.RunPython(tell_apart, migrations.RunPython.noop),
    ]
