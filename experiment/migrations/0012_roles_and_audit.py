"""Members get roles: who was one is a researcher. The audit trail begins."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def copy_members(apps, schema_editor):
    study = apps.get_model("experiment", "Study")
    membership = apps.get_model("experiment", "Membership")
    rows = study.members.through.objects.values_list("study_id", "user_id")
    membership.objects.bulk_create(
        [membership(study_id=study_id, user_id=user_id) for study_id, user_id in rows]
    )


class Migration(migrations.Migration):

    dependencies = [
        ('experiment', '0011_lab_indexes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(blank=True, help_text='Empty: the site itself.', max_length=150)),
                ('action', models.CharField(max_length=20)),
                ('study', models.CharField(blank=True, db_index=True, max_length=60)),
                ('details', models.JSONField(default=dict)),
                ('reason', models.TextField(blank=True)),
                ('previous_sha256', models.CharField(blank=True, max_length=64)),
                ('sha256', models.CharField(max_length=64, unique=True)),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('researcher', 'researcher: sets up, watches, exports'), ('curator', 'curator: test cases'), ('auditor', 'auditor: reads, without identifiers')], default='researcher', max_length=10)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='experiment.study')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('study', 'user'),
            },
        ),
        migrations.RunPython(copy_members, migrations.RunPython.noop),
        migrations.RemoveField(model_name='study', name='members'),
        migrations.AddField(
            model_name='study',
            name='members',
            field=models.ManyToManyField(
                related_name='studies', through='experiment.Membership', to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('study', 'user'), name='membership_unique'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ('researcher', 'curator', 'auditor'))), name='membership_role_known'),
        ),
    ]
