"""What the presets set in a study, and the field of research of items."""

from django.db import migrations, models


def name_the_field(apps, schema_editor):
    items = apps.get_model("experiment", "Item").objects.using(schema_editor.connection.alias)
    items.filter(collection="brainbench").update(field="neuroscience")


ETHICS_WHOLE = models.Q(ethics_number="", ethics_body="", ethics_contact="") | (
    ~models.Q(ethics_number="") & ~models.Q(ethics_body="")
)


class Migration(migrations.Migration):
    dependencies = [("experiment", "0003_trial_exports")]

    operations = [
        migrations.AddField(
            model_name="item",
            name="field",
            field=models.CharField(
                blank=True,
                default="",
                help_text="E.g. neuroscience.",
                max_length=80,
                verbose_name="field of research",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="study",
            name="field",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Named where participants say how many years of experience they have in it; empty: their own field.",
                max_length=80,
                verbose_name="field of research",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="study",
            name="ethics_number",
            field=models.CharField(
                blank=True,
                default="",
                max_length=80,
                verbose_name="number of the ethics approval",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="study",
            name="ethics_body",
            field=models.CharField(
                blank=True, default="", max_length=200, verbose_name="who approved"
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="study",
            name="ethics_contact",
            field=models.CharField(
                blank=True,
                default="",
                help_text="Whom participants can write to about their rights; shown at consent.",
                max_length=300,
                verbose_name="contact there",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="study",
            name="debrief_catch_trials",
            field=models.BooleanField(
                default=False,
                help_text="Whether the debrief also says which catch trials were right.",
                verbose_name="catch trials in the debrief",
            ),
        ),
        # Off in studies that there are: what their participants see does not change under way.
        migrations.AddField(
            model_name="study",
            name="reading_aid",
            field=models.BooleanField(
                default=False,
                help_text="Participants may read one side alone, by key or button; each use is counted.",
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="reading_aid",
            field=models.BooleanField(
                default=True,
                help_text="Participants may read one side alone, by key or button; each use is counted.",
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=ETHICS_WHOLE,
                name="study_ethics_approval_whole",
                violation_error_message="An ethics approval needs its number and the body that gave it.",
            ),
        ),
        migrations.RunPython(name_the_field, migrations.RunPython.noop),
    ]
