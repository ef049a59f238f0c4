"""The codebook agrees with what exports write and with what participants are asked."""

from experiment.domain import exclusion, export_columns
from experiment.domain.export_columns import TRIAL_COLUMNS
from experiment.models import Participant, Study
from experiment.participant import forms
from experiment.services.advised import ADDED_UP


def column(name: str) -> export_columns.Column:
    return next(column for column in TRIAL_COLUMNS if column.name == name)


def test_column_names_are_unique_and_every_meaning_is_a_sentence() -> None:
    assert len({c.name for c in TRIAL_COLUMNS}) == len(TRIAL_COLUMNS)
    assert all(c.meaning.endswith(".") for c in TRIAL_COLUMNS)


def test_levels_are_those_of_the_database() -> None:
    assert set(column("kind").levels) == set(Participant.Kind.values)
    # Nothing is left to export of those who withdrew
    assert set(column("stage").levels) == set(Participant.Stage.values) - {"withdrawn"}
    assert set(column("policy").levels) == set(Study.Policy.values)


def test_levels_are_those_that_participants_choose_from() -> None:
    assert column("gender").levels == tuple(value for value, _ in forms.GENDERS)
    assert column("position_held").levels == tuple(value for value, _ in forms.POSITIONS)
    assert export_columns.DECLINED == forms.PREFER_NOT


def test_every_reason_and_flag_is_explained() -> None:
    page = export_columns.as_markdown()
    reasons = (*exclusion.PARTICIPANT_REASONS, *exclusion.TRIAL_REASONS, *exclusion.FLAGS)
    for reason in reasons:
        if reason is not exclusion.WITHDRAWN:
            assert f"| `{reason.code}` | {reason.sentence} |" in page


def test_columns_that_add_up_both_pages_of_an_advised_trial_are_named() -> None:
    told = next(c for c in export_columns.ADVICE_COLUMNS if c.name == "advice_procedure").meaning
    sums = next(sentence for sentence in told.split(". ") if "sums" in sentence)
    assert all(f"`{name}`" in sums for name in ("rt_ms", *ADDED_UP))
