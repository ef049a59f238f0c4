"""Recruitment ids move to a table of their own; the ids of imported people, which are public, stay with them."""

import django.db.models.deletion
from django.db import migrations, models

MOVED = ("external_id", "external_study_id", "external_session_id")
HAS_ID = " OR ".join(f"{name} <> ''" for name in MOVED)


def move_ids(apps, schema_editor):
    schema_editor.execute(
        "UPDATE experiment_participant SET published_id = external_id WHERE kind = 'imported'"
    )
    schema_editor.execute(
        "INSERT INTO experiment_recruitmentrecord "
        f"(participant_id, study_id, source, {', '.join(MOVED)}, until) "
        f"SELECT id, study_id, external_source, {', '.join(MOVED)}, external_ids_until "
        f"FROM experiment_participant WHERE kind <> 'imported' AND ({HAS_ID})"
    )


def move_back(apps, schema_editor):
    schema_editor.execute(
        "UPDATE experiment_participant SET external_id = published_id WHERE kind = 'imported'"
    )
    # Each row once: PostgreSQL would not change the table after a second change of a row
    schema_editor.execute(
        f"UPDATE experiment_participant SET ({', '.join(MOVED)}, external_ids_until) = "
        f"(SELECT {', '.join(f'r.{name}' for name in MOVED)}, r.until "
        "FROM experiment_recruitmentrecord r WHERE r.participant_id = experiment_participant.id) "
        "WHERE id IN (SELECT participant_id FROM experiment_recruitmentrecord)"
    )


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0013_access_tokens'),
    ]

    operations = [
        migrations.CreateModel(
            name='RecruitmentRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('source', models.CharField(max_length=20)),
                ('external_id', models.CharField(max_length=128)),
                ('external_study_id', models.CharField(blank=True, max_length=128)),
                ('external_session_id', models.CharField(blank=True, max_length=128)),
                ('until', models.DateField(help_text='The last day on which it is kept, as consent said.', null=True)),
                ('participant', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='recruitment', to='experiment.participant')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiment.study')),
            ],
            options={
                'ordering': ('participant',),
                'indexes': [
                    models.Index(fields=['study', 'source', 'external_id'], name='recruitment_who'),
                    models.Index(fields=['until'], name='recruitment_until'),
                ],
            },
        ),
        migrations.AddField(
            model_name='participant',
            name='published_id',
            field=models.CharField(blank=True, help_text="An imported person's name in the published data.", max_length=128),
        ),
        migrations.RunPython(move_ids, move_back),
        migrations.RemoveIndex(model_name='participant', name='participant_external'),
        migrations.RemoveIndex(model_name='participant', name='participant_published'),
        migrations.RemoveIndex(model_name='participant', name='participant_overdue'),
        migrations.RemoveField(model_name='participant', name='external_id'),
        migrations.RemoveField(model_name='participant', name='external_ids_until'),
        migrations.RemoveField(model_name='participant', name='external_session_id'),
        migrations.RemoveField(model_name='participant', name='external_study_id'),
        migrations.AlterField(
            model_name='participant',
            name='external_source',
            field=models.CharField(blank=True, help_text='Who sent them: says nothing of a person.', max_length=20),
        ),
        migrations.AlterField(
            model_name='participant',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='participants', to='experiment.study'),
        ),
        migrations.AddIndex(
            model_name='participant',
            index=models.Index(condition=models.Q(('kind', 'imported')), fields=['published_id'], name='participant_published'),
        ),
    ]
