from django.db import migrations, models


def forget_exports(apps, schema_editor):
    """They are a cache of what was asked in other words; their files go with the next export."""
    apps.get_model("experiment", "TrialExport").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("experiment", "0016_unique_titles")]

    operations = [
        migrations.RunPython(forget_exports, migrations.RunPython.noop),
        migrations.RemoveConstraint("trialexport", "one_export_per_key"),
        migrations.RemoveField("trialexport", "kind"),
        migrations.RemoveField("trialexport", "set_name"),
        migrations.RemoveField("trialexport", "sha256"),
        migrations.AddField(
            "trialexport",
            "query",
            models.TextField(default="", help_text="As TrialQuery.encode writes it."),
            preserve_default=False,
        ),
        migrations.AddField(
            "trialexport",
            "format",
            models.CharField(
                default="", help_text="As Form.encode writes it.", max_length=40
            ),
            preserve_default=False,
        ),
        migrations.AddField("trialexport", "manifest", models.JSONField(default=dict)),
        migrations.AddConstraint(
            "trialexport",
            models.UniqueConstraint(fields=("study", "format", "key"), name="one_export_per_key"),
        ),
    ]
