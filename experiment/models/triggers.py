"""Database triggers: an item's text is frozen once it was accepted, and so are the versions of a study.

Installed after every migration and not in one: a later migration that rebuilds the table on SQLite would
drop them silently. Taken away before it: no column could be changed that a trigger names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import connections

from experiment.models.studies import RULE_COLUMNS

FROZEN = "('accepted', 'retired')"


def changes(*columns: str) -> str:
    """SQL: whether an update changes any of the columns."""
    return "(" + " OR ".join(f"NEW.{c} IS DISTINCT FROM OLD.{c}" for c in columns) + ")"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Refuses an update of a row of the table where the condition holds.

    `since` is a table that came with the columns of the condition: a test may stop at an earlier migration.
    """

    name: str
    table: str
    condition: str
    refusal: str
    since: str

    def on_sqlite(self) -> Iterable[str]:
        # SQLite spells IS DISTINCT FROM as IS NOT, in every version that Django supports.
        condition = self.condition.replace("IS DISTINCT FROM", "IS NOT")
        yield (
            f"CREATE TRIGGER {self.name} BEFORE UPDATE ON {self.table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{self.refusal}'); END"
        )

    def on_postgresql(self) -> Iterable[str]:
        function = f"experiment_{self.name}"
        yield f"""CREATE OR REPLACE FUNCTION {function}() RETURNS trigger AS $$
            BEGIN
                IF {self.condition} THEN
                    RAISE EXCEPTION '{self.refusal}' USING ERRCODE = 'check_violation';
                END IF;
                RETURN NEW;
            END $$ LANGUAGE plpgsql"""
        yield (
            f"CREATE TRIGGER {self.name} BEFORE UPDATE ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()"
        )


TRIGGERS = (
    Trigger(
        "item_text_is_frozen",
        "experiment_item",
        f"OLD.status IN {FROZEN} AND "
        + changes("key", "version", "markup", "original", "altered", "sha256"),
        "the text of an accepted item never changes",
        since="experiment_item",
    ),
    Trigger(
        "item_stays_accepted",
        "experiment_item",
        f"OLD.status IN {FROZEN} AND NEW.status NOT IN {FROZEN}",
        "an accepted item can only be retired",
        since="experiment_item",
    ),
    Trigger(
        "study_version_is_frozen",
        "experiment_studyversion",
        # Not who made it: that account may be deleted
        changes(
            "study_id",
            "number",
            "created_at",
            "reason",
            "rules",
            "consent_id",
            "items",
            "items_sha256",
        ),
        "a version of a study never changes",
        since="experiment_studyversion",
    ),
    Trigger(
        "study_rules_have_versions",
        "experiment_study",
        f"OLD.version > 0 AND NEW.version <= OLD.version AND {changes(*RULE_COLUMNS.values())}",
        "the rules of a study with real participants change in a new version only",
        since="experiment_studyversion",
    ),
)


def install_triggers(using: str, **_: Any) -> None:
    """Put the triggers in place; safe to repeat."""
    connection = connections[using]
    tables, is_sqlite = connection.introspection.table_names(), connection.vendor == "sqlite"
    drop_triggers(using)
    with connection.cursor() as cursor:
        for trigger in TRIGGERS:
            if trigger.since in tables:
                for statement in trigger.on_sqlite() if is_sqlite else trigger.on_postgresql():
                    cursor.execute(statement)


def drop_triggers(using: str, **_: Any) -> None:
    """Take the triggers away; safe to repeat."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for trigger in TRIGGERS:
            where = f" ON {trigger.table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {trigger.name}{where}")
