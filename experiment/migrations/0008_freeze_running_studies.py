"""Studies that have real participants get their first version: the rules, consent and items as they are."""

import hashlib

from django.db import migrations

RULES = {
    "missed_catch": "exclude_missed_catch",
    "untouched_sliders": "exclude_untouched",
    "admitted_cheating": "exclude_cheating",
    "recognised": "exclude_recognised",
    "min_rt_ms": "min_rt_ms",
    "min_rt_clock": "min_rt_clock",
    "fast_page_ms": "fast_page_ms",
    "hidden_flag_ms": "hidden_flag_ms",
}


def freeze(apps, schema_editor):
    using = schema_editor.connection.alias
    get = lambda name: apps.get_model("experiment", name).objects.using(using)  # noqa: E731
    for study in get("Study").filter(participants__kind="real").distinct():
        rows = get("StudyItem").filter(study=study).order_by("item__key", "item__version")
        items = [list(row) for row in rows.values_list("item__key", "item__version", "item__sha256")]
        text = "".join(f"{key} {version} {sha256}\n" for key, version, sha256 in items)
        get("StudyVersion").create(
            study=study,
            number=1,
            rules={rule: getattr(study, column) for rule, column in RULES.items()},
            consent=get("ConsentVersion").filter(study=study).order_by("-number").first(),
            items=items,
            items_sha256=hashlib.sha256(text.encode()).hexdigest(),
        )
        get("Study").filter(pk=study.pk).update(version=1)


class Migration(migrations.Migration):
    dependencies = [("experiment", "0007_study_versions")]

    operations = [migrations.RunPython(freeze, migrations.RunPython.noop)]
