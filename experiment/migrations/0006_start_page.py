from django.db import migrations, models
from django.db.models import F


def count_the_start_page(apps, schema_editor):
    """Pages from the first trial on have one more page before them."""
    participants = apps.get_model('experiment', 'Participant').objects.using(schema_editor.connection.alias)
    participants.filter(page_reached__gte=2).update(page_reached=F('page_reached') + 1)


def forget_the_start_page(apps, schema_editor):
    participants = apps.get_model('experiment', 'Participant').objects.using(schema_editor.connection.alias)
    participants.filter(page_reached__gte=3).update(page_reached=F('page_reached') - 1)
    # Whoever is on the start page has passed the practice.
    participants.filter(stage='start').update(stage='trial')


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0005_participant_pages'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='participant',
            name='participant_stage_known',
        ),
        migrations.AlterField(
            model_name='participant',
            name='stage',
            field=models.CharField(choices=[('demographics', 'about you'), ('practice', 'practice'), ('start', 'before the trials'), ('trial', 'trials'), ('debrief', 'debrief'), ('finished', 'finished'), ('withdrawn', 'withdrawn')], default='demographics', max_length=12),
        ),
        migrations.AddConstraint(
            model_name='participant',
            constraint=models.CheckConstraint(condition=models.Q(('stage__in', ('demographics', 'practice', 'start', 'trial', 'debrief', 'finished', 'withdrawn'))), name='participant_stage_known'),
        ),
        migrations.RunPython(count_the_start_page, forget_the_start_page),
    ]
