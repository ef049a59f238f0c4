import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('experiment', '0001_release'),
    ]

    operations = [
        migrations.CreateModel(
            name='Computation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('status', models.CharField(choices=[('waiting', 'waiting'), ('running', 'running'), ('finished', 'finished'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='waiting', max_length=10)),
                ('total', models.PositiveIntegerField(default=0, verbose_name='steps in all')),
                ('done', models.PositiveIntegerField(default=0, verbose_name='steps done')),
                ('cancel_requested', models.BooleanField(default=False)),
                ('error', models.TextField(blank=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0, editable=False, help_text='Workers that started it since its last progress.')),
                ('worker', models.CharField(blank=True, editable=False, max_length=200)),
                ('heartbeat_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('started_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('finished_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='computations', to='experiment.study')),
                ('kind', models.CharField(choices=[('report', 'report'), ('teams', 'teams')], max_length=10)),
                ('key', models.CharField(max_length=64)),
                ('options', models.JSONField()),
                ('step', models.CharField(blank=True, max_length=200)),
                ('used_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'kind', 'key'), name='one_computation_per_key'), models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'running', 'finished', 'failed', 'cancelled'])), name='computation_status_known')],
            },
        ),
    ]
