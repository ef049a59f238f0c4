from typing import Any

from django.db import migrations, models
from django.db.models import Q


def drop_contradicted(apps: Any, schema_editor: Any) -> None:
    """Odds that contradict the side that was written at temperature 0 were those of other tokens, and have decided test cases."""
    runs = apps.get_model("scoring", "ChoiceRun").objects.exclude(form="likelihood")
    choices = apps.get_model("scoring", "ModelChoice").objects
    for pk, args, identity in runs.values_list("pk", "model_args", "identity").iterator():
        config = (identity.get("log") or {}).get("model_generate_config") or {}
        temperature = str(args.get("temperature", config.get("temperature")))
        if temperature in ("0", "0.0"):
            against = Q(side="A", log_odds__lt=-0.001) | Q(side="B", log_odds__gt=0.001)
            choices.filter(against, run=pk).update(log_odds=None, unused="contradicts")


class Migration(migrations.Migration):
    dependencies = [("scoring", "0001_release")]

    operations = [
        migrations.AddField(
            model_name="modelchoice",
            name="unused",
            field=models.CharField(
                blank=True,
                help_text="Why probabilities of tokens that came with the answer are not used.",
                max_length=20,
            ),
        ),
        migrations.RunPython(drop_contradicted, migrations.RunPython.noop),
    ]
