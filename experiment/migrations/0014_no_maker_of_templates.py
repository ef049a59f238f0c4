from django.db import migrations


class Migration(migrations.Migration):
    """Apart from the migration before: PostgreSQL changes no table in the transaction that has filled another from it."""

    dependencies = [
        ('experiment', '0013_writers_of_templates'),
    ]

    operations = [
        migrations.RemoveField(
            model_name='questiontemplate',
            name='created_by',
        ),
    ]
