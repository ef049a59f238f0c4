"""Versions of a study, and the two readings of "untouched slider" and "too fast"."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def read_switch(apps, schema_editor):
    studies = apps.get_model("experiment", "Study").objects.using(schema_editor.connection.alias)
    studies.filter(excluded_untouched=False).update(exclude_untouched="off")


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0006_start_page'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='study',
            name='version',
            field=models.PositiveIntegerField(default=0, editable=False, help_text='Of its rules, consent and test cases; 0 until a real participant enters.'),
        ),
        migrations.CreateModel(
            name='StudyVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('reason', models.TextField(help_text='Empty in the first.')),
                ('rules', models.JSONField()),
                ('items', models.JSONField(help_text='[key, version, SHA-256 of the text], by key.')),
                ('items_sha256', models.CharField(max_length=64)),
            ],
            options={
                'verbose_name': 'version of the study',
                'verbose_name_plural': 'versions of the study',
                'ordering': ('study', 'number'),
            },
        ),
        migrations.AddField(
            model_name='study',
            name='min_rt_clock',
            field=models.CharField(choices=[('page', 'Continue'), ('choice', 'the first choice of a side')], default='page', max_length=10, verbose_name='measured to'),
        ),
        # A column of its own first: databases would cast true to "true" or to "1".
        migrations.RenameField("study", "exclude_untouched", "excluded_untouched"),
        migrations.AddField(
            model_name='study',
            name='exclude_untouched',
            field=models.CharField(choices=[('off', 'exclude no one for it'), ('neither', 'exclude who never moved any of the two sliders'), ('either', 'exclude who never moved one of the two sliders')], default='neither', max_length=10, verbose_name='untouched sliders'),
        ),
        migrations.RunPython(read_switch, migrations.RunPython.noop),
        migrations.RemoveField("study", "excluded_untouched"),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('exclude_untouched__in', ('off', 'neither', 'either'))), name='study_untouched_known'),
        ),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('min_rt_clock__in', ('page', 'choice'))), name='study_clock_known'),
        ),
        migrations.AddField(
            model_name='studyversion',
            name='consent',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.RESTRICT, to='experiment.consentversion'),
        ),
        migrations.AddField(
            model_name='studyversion',
            name='made_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='studyversion',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='experiment.study'),
        ),
        migrations.AddConstraint(
            model_name='studyversion',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='study_version_unique'),
        ),
        migrations.AddConstraint(
            model_name='studyversion',
            constraint=models.CheckConstraint(condition=models.Q(('number', 1), models.Q(('number__gt', 1), models.Q(('reason', ''), _negated=True)), _connector='OR'), name='study_version_has_reason'),
        ),
    ]
