"""The promises of all commands: with --json, one JSON object on standard output and nothing else, also when they fail."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_question, make_research_field, make_study, make_user


@pytest.mark.both
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("line", "fails"),
    [
        ("simulate_participants nowhere", True),
        ("export_trials nowhere --set all --output never.csv", True),
        ("set_recruitment nowhere open", True),
        ("set_recruitment memory pilot", False),
        ("chores exclusions nowhere", True),
        ("chores exclusions memory", False),
        ("chores recruitment-ids", False),
        ("chores withdrawals", False),
        ("chores counters", False),
        ("chores trail", False),
        ("choose_items memory --collection any", False),
        ("choose_questions memory --field cooking --each 1", False),
        ("create_token ruth --study memory", False),
        ("create_study no/slug", True),
        ("create_study ours --items nowhere", True),
        ("study_versions nowhere", True),
        ("study_versions memory --compare 1 2", True),
        ("study_versions memory", False),
        ("load_demo --simulate -1", True),
        ("create_admin", False),
    ],
)
def test_success_and_failure_are_one_json_object(line: str, fails: bool) -> None:
    make_user("ruth", make_study())
    make_question(field=make_research_field().name)
    out, error = StringIO(), None
    try:
        call_command(*line.split(), "--json", stdout=out, stderr=StringIO())
    except CommandError as raised:
        error = str(raised)
    printed = json.loads(out.getvalue())
    assert (error is not None) is fails
    assert isinstance(printed, dict)
    assert not fails or printed == {"error": error}


@pytest.mark.django_db
def test_a_name_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(CommandError, match="this site has no studies yet"):
        call_command("study_versions", "nowhere")
    make_study()
    with pytest.raises(CommandError, match=r"“nowhere”\. Choose from memory\."):
        call_command("study_versions", "nowhere")
