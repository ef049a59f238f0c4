"""Sign-ins of before, which the table named by their cookies' keys: their members stay signed in, and nobody can copy a key."""

import hashlib

from django.db import migrations

KEY = 32  # characters; a digest has more


def digest_keys(apps, schema_editor):
    sessions = apps.get_model("sessions", "Session").objects.using(schema_editor.connection.alias)
    for key in [key for key in sessions.values_list("pk", flat=True) if len(key) == KEY]:
        # As lib/sessions.py does
        digest = hashlib.sha256(key.encode()).hexdigest()[:40]
        sessions.filter(pk=key).update(session_key=digest)


class Migration(migrations.Migration):
    dependencies = [("experiment", "0003_one_line_patterns"), ("sessions", "0001_initial")]

    operations = [migrations.RunPython(digest_keys, migrations.RunPython.noop)]
