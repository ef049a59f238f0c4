from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiment", "0034_questions")]

    operations = [
        migrations.AddField(
            model_name="writtenanswer",
            name="first_ms",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="writtenanswer",
            name="last_ms",
            field=models.PositiveIntegerField(null=True),
        ),
    ]
