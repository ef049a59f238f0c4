from django.conf import settings
from django.db import migrations, models


def say_who_wrote(apps, schema_editor):
    """Whoever made a template that has texts; one that a file only named has none."""
    templates = apps.get_model("experiment", "QuestionTemplate")
    writers = templates.writers.through
    made = templates.objects.exclude(created_by=None).exclude(rules=[])
    writers.objects.bulk_create(
        writers(questiontemplate_id=pk, user_id=user)
        for pk, user in made.values_list("pk", "created_by")
    )


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0012_who_asked_for_a_job'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='questiontemplate',
            name='writers',
            field=models.ManyToManyField(blank=True, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(say_who_wrote, migrations.RunPython.noop),
    ]
