"""Database triggers that freeze an item's text once it was accepted.

Installed after every migration and not in one: a later migration that rebuilds the table on SQLite would
drop them silently.
"""

from typing import Any

from django.db import connections

FROZEN = "'accepted', 'retired'"
CHANGED = " OR ".join(
    f"NEW.{column} IS DISTINCT FROM OLD.{column}"
    for column in ("key", "version", "markup", "original", "altered", "sha256")
)

SQLITE = (
    "DROP TRIGGER IF EXISTS item_text_is_frozen",
    # SQLite spells IS DISTINCT FROM as IS NOT, in every version that Django supports.
    f"""CREATE TRIGGER item_text_is_frozen BEFORE UPDATE ON experiment_item
        WHEN OLD.status IN ({FROZEN}) AND ({CHANGED.replace("IS DISTINCT FROM", "IS NOT")})
        BEGIN SELECT RAISE(ABORT, 'the text of an accepted item never changes'); END""",
    "DROP TRIGGER IF EXISTS item_stays_accepted",
    f"""CREATE TRIGGER item_stays_accepted BEFORE UPDATE ON experiment_item
        WHEN OLD.status IN ({FROZEN}) AND NEW.status NOT IN ({FROZEN})
        BEGIN SELECT RAISE(ABORT, 'an accepted item can only be retired'); END""",
)

POSTGRESQL = (
    f"""CREATE OR REPLACE FUNCTION experiment_freeze_item() RETURNS trigger AS $$
        BEGIN
            IF {CHANGED} THEN
                RAISE EXCEPTION 'the text of an accepted item never changes' USING ERRCODE = 'check_violation';
            END IF;
            IF NEW.status NOT IN ({FROZEN}) THEN
                RAISE EXCEPTION 'an accepted item can only be retired' USING ERRCODE = 'check_violation';
            END IF;
            RETURN NEW;
        END $$ LANGUAGE plpgsql""",
    f"""CREATE OR REPLACE TRIGGER item_text_is_frozen BEFORE UPDATE ON experiment_item
        FOR EACH ROW WHEN (OLD.status IN ({FROZEN})) EXECUTE FUNCTION experiment_freeze_item()""",
)


def install_triggers(using: str, **_: Any) -> None:
    """Put the triggers in place; safe to repeat."""
    connection = connections[using]
    if "experiment_item" not in connection.introspection.table_names():
        return
    statements = {"sqlite": SQLITE, "postgresql": POSTGRESQL}[connection.vendor]
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
