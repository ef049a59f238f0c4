"""Database triggers: what was accepted, decided or answered once never changes.

Installed after every migration and not in one: a later migration that rebuilds the table on SQLite would
drop them silently. Taken away before it: no column could be changed that a trigger names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from django.db import connections

from experiment.models import survey
from experiment.models.arms import FIXED
from experiment.models.studies import PAY_COLUMNS, RULE_COLUMNS

FROZEN = "('accepted', 'retired')"


def changes(*columns: str) -> str:
    """SQL: whether an update changes any of the columns."""
    return "(" + " OR ".join(f"NEW.{c} IS DISTINCT FROM OLD.{c}" for c in columns) + ")"


@dataclass(frozen=True, slots=True)
class Trigger:
    """Refuses to update, or to delete, a row of the table where the condition holds."""

    name: str
    table: str
    condition: str
    refusal: str
    event: Literal["UPDATE", "DELETE"] = "UPDATE"

    def on_sqlite(self) -> Iterable[str]:
        # SQLite spells IS DISTINCT FROM as IS NOT, in every version that Django supports.
        condition = self.condition.replace("IS DISTINCT FROM", "IS NOT")
        yield (
            f"CREATE TRIGGER {self.name} BEFORE {self.event} ON {self.table} WHEN {condition} "
            f"BEGIN SELECT RAISE(ABORT, '{self.refusal}'); END"
        )

    def on_postgresql(self) -> Iterable[str]:
        function = f"experiment_{self.name}"
        yield f"""CREATE OR REPLACE FUNCTION {function}() RETURNS trigger AS $$
            BEGIN
                IF {self.condition} THEN
                    RAISE EXCEPTION '{self.refusal}' USING ERRCODE = 'check_violation';
                END IF;
                RETURN {"NEW" if self.event == "UPDATE" else "OLD"};
            END $$ LANGUAGE plpgsql"""
        yield (
            f"CREATE TRIGGER {self.name} BEFORE {self.event} ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()"
        )


# Whether the participant of a judgment has not withdrawn, and is no simulation
_STANDS = (
    "EXISTS (SELECT 1 FROM experiment_trial t JOIN experiment_participant p ON p.id = t.participant_id "
    "WHERE t.id = OLD.trial_id AND p.stage <> 'withdrawn' AND p.kind <> 'simulated')"
)
_WRITTEN_STANDS = (
    "EXISTS (SELECT 1 FROM experiment_judgment j JOIN experiment_trial t ON t.id = j.trial_id "
    "JOIN experiment_participant p ON p.id = t.participant_id "
    "WHERE j.id = OLD.judgment_id AND p.stage <> 'withdrawn' AND p.kind <> 'simulated')"
)
_SURVEYED_STANDS = (
    "EXISTS (SELECT 1 FROM experiment_participant p WHERE p.id = OLD.participant_id "
    "AND p.stage <> 'withdrawn' AND p.kind <> 'simulated')"
)
_OF_FROZEN_STUDY = (
    "EXISTS (SELECT 1 FROM experiment_study s WHERE s.id = OLD.study_id AND s.version > 0)"
)
_NEW_VERSION_ONLY = "the rules of a study with real participants only change in a new version"
_OF_QUESTIONS = "question_min_rt_ms"
_RULES = [column for column in RULE_COLUMNS.values() if column != _OF_QUESTIONS]
# What a judgment says; rules decide the others anew
_ANSWER = [
    "trial_id",
    "idempotency_key",
    "side",
    "correct",
    "confidence",
    "expertise",
    "confidence_moved",
    "expertise_moved",
    "recognised",
    "rt_choice_ms",
    "rt_final_choice_ms",
    "rt_ms",
    "confidence_first_ms",
    "confidence_last_ms",
    "expertise_first_ms",
    "expertise_last_ms",
    "changes",
    "aid_switches",
    "blur_count",
    "hidden_ms",
    "reloads",
    "viewport_width",
    "viewport_height",
    "translated",
    "received_at",
    "server_ms",
]

# Of a trial with advice: what was shown, and the answer before it. Two columns are filled later, once
_ADVISED = [
    "trial_id",
    "procedure",
    "advice_side",
    "p_shown",
    "token",
    "first_key",
    "first_side",
    "first_confidence",
    "first_confidence_moved",
    "first_expertise",
    "first_recognised",
    "first_rt_ms",
    "first_rt_choice_ms",
    "first_changes",
    "first_more",
    "first_received_at",
    "first_server_ms",
]
_FILLED = " OR ".join(
    f"(OLD.{column} IS NOT NULL AND {changes(column)})" for column in ("shown_at", "viewed_ms")
)
_ADVISER = [
    "study_id",
    "kind",
    "source",
    "shown_name",
    "shows",
    "shows_passages",
    "planted_accuracy",
    "frozen_at",
]
# Whether a real participant may have seen what the adviser says
_SEEN = "EXISTS (SELECT 1 FROM experiment_study s WHERE s.id = OLD.study_id AND s.version > 0)"
_IS_FROZEN = "EXISTS (SELECT 1 FROM experiment_adviser a WHERE a.id = OLD.adviser_id AND a.frozen_at IS NOT NULL)"
_ADVICE_SEEN = (
    "EXISTS (SELECT 1 FROM experiment_adviser a JOIN experiment_study s ON s.id = a.study_id "
    "WHERE a.id = OLD.adviser_id AND a.frozen_at IS NOT NULL AND s.version > 0)"
)

TRIGGERS = (
    Trigger(
        "item_text_is_frozen",
        "experiment_item",
        f"OLD.status IN {FROZEN} AND "
        + changes("key", "version", "markup", "original", "altered", "sha256"),
        "the text of an accepted item never changes",
    ),
    Trigger(
        "item_answer_is_frozen",
        "experiment_item",
        f"OLD.status IN {FROZEN} AND {changes('expert_answer')}",
        "the answer of an accepted question never changes",
    ),
    Trigger(
        "item_stays_accepted",
        "experiment_item",
        f"OLD.status IN {FROZEN} AND NEW.status NOT IN {FROZEN}",
        "an accepted item can only be retired",
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
            "pay",
        ),
        "a version of a study never changes",
    ),
    Trigger(
        "study_pay_has_versions",
        "experiment_study",
        f"OLD.version > 0 AND NEW.version <= OLD.version AND {changes(*PAY_COLUMNS.values())}",
        "the payment of a study with real participants only changes in a new version",
    ),
    Trigger(
        "payment_line_is_fixed",
        "experiment_paymentline",
        f"{changes('study_id', 'source', 'channel', 'reason', 'amount', 'unit')} OR "
        f"(OLD.batch_id IS NOT NULL AND {changes('batch_id')})",
        "a line of a list of payments never changes",
    ),
    Trigger(
        "study_rules_have_versions",
        "experiment_study",
        f"OLD.version > 0 AND NEW.version <= OLD.version AND {changes(*_RULES)}",
        _NEW_VERSION_ONLY,
    ),
    Trigger(
        "study_rule_of_questions_has_versions",
        "experiment_study",
        f"OLD.version > 0 AND NEW.version <= OLD.version AND {changes(_OF_QUESTIONS)}",
        _NEW_VERSION_ONLY,
    ),
    Trigger(
        "arm_is_fixed",
        "experiment_arm",
        f"{changes('study_id', 'number', *FIXED)} AND {_OF_FROZEN_STUDY}",
        "the arms of a study with real participants only change their names",
    ),
    Trigger(
        "survey_question_is_fixed",
        "experiment_surveyquestion",
        f"{changes('study_id', *survey.FIXED)} AND {_OF_FROZEN_STUDY}",
        "the survey questions of a study with real participants never change",
    ),
    Trigger(
        "survey_answer_is_frozen",
        "experiment_surveyanswer",
        f"{changes('participant_id', 'question_id', 'value', 'received_at')} AND {_SURVEYED_STANDS}",
        "an answer never changes",
    ),
    Trigger(
        "survey_answer_stays",
        "experiment_surveyanswer",
        _SURVEYED_STANDS,
        "an answer is deleted only when its participant withdraws",
        event="DELETE",
    ),
    Trigger(
        "judgment_is_frozen",
        "experiment_judgment",
        f"{changes(*_ANSWER)} AND {_STANDS}",
        "an answer never changes",
    ),
    Trigger(
        "judgment_stays",
        "experiment_judgment",
        _STANDS,
        "an answer is deleted only when its participant withdraws",
        event="DELETE",
    ),
    Trigger(
        "adviser_is_frozen",
        "experiment_adviser",
        f"OLD.frozen_at IS NOT NULL AND {changes(*_ADVISER)} AND {_SEEN}",
        "an adviser never changes once participants may have seen its advice",
    ),
    Trigger(
        "advice_is_frozen",
        "experiment_advice",
        f"{changes('adviser_id', 'item_id', 'picks_original', 'p_chosen', 'passages')} AND {_IS_FROZEN}",
        "frozen advice never changes",
    ),
    Trigger(
        "advice_stays",
        "experiment_advice",
        _ADVICE_SEEN,
        "advice is never deleted once participants may have seen it",
        event="DELETE",
    ),
    Trigger(
        "advised_trial_is_frozen",
        "experiment_advisedtrial",
        f"({changes(*_ADVISED)} OR {_FILLED}) AND {_STANDS}",
        "advice that was given, and the answer before it, never change",
    ),
    Trigger(
        "advised_trial_stays",
        "experiment_advisedtrial",
        _STANDS,
        "an answer is deleted only when its participant withdraws",
        event="DELETE",
    ),
    Trigger(
        "written_answer_is_frozen",
        "experiment_writtenanswer",
        f"{changes('judgment_id', 'text', 'abstained', 'erased', 'first_ms', 'last_ms')} AND {_WRITTEN_STANDS}",
        "a written answer never changes",
    ),
    Trigger(
        "written_answer_stays",
        "experiment_writtenanswer",
        _WRITTEN_STANDS,
        "a written answer is deleted only when its participant withdraws",
        event="DELETE",
    ),
    Trigger(
        "audit_event_is_frozen",
        "experiment_auditevent",
        "1 = 1",
        "the audit trail never changes",
    ),
    Trigger(
        "audit_event_stays",
        "experiment_auditevent",
        "1 = 1",
        "nothing leaves the audit trail",
        event="DELETE",
    ),
)


def install_triggers(using: str, **_: Any) -> None:
    """Put the triggers in place; safe to repeat."""
    connection = connections[using]
    is_sqlite = connection.vendor == "sqlite"
    drop_triggers(using)
    with connection.cursor() as cursor:
        there = connection.introspection.table_names(cursor)
        for trigger in TRIGGERS:
            if trigger.table in there:  # not where another app alone was migrated
                for statement in trigger.on_sqlite() if is_sqlite else trigger.on_postgresql():
                    cursor.execute(statement)


def drop_triggers(using: str, **_: Any) -> None:
    """Take the triggers away; safe to repeat."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for trigger in TRIGGERS:
            where = f" ON {trigger.table}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER IF EXISTS {trigger.name}{where}")
