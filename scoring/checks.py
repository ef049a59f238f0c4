"""System checks of models' servers."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError


@register(Tags.database)
def server_keys_open(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """With another key than theirs, no key of a model server can be read."""
    from scoring.services.servers import keys_open

    try:
        if not databases or keys_open():
            return []
    except DatabaseError:
        return []  # not migrated yet
    hint = (
        "Restore VAR_DIR/withdrawal_key from its backup, or set WITHDRAWAL_KEY to its previous value. If it was changed on "
        "purpose, run `manage.py chores codes --old-key FILE`."
    )
    return [
        CheckWarning(
            "WITHDRAWAL_KEY is not the key under which keys of model servers are stored in the database.",
            hint=hint,
            id="scoring.W001",
        )
    ]
