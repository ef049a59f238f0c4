"""What all commands promise: with --json, one JSON object on standard output and nothing else, also when they fail."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_study

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def run(*arguments):
    """Standard output of a command, and the error that it ended with."""
    out = StringIO()
    try:
        call_command(*arguments, "--json", stdout=out, stderr=StringIO())
    except CommandError as error:
        return out.getvalue(), error
    return out.getvalue(), None


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate_participants", "nowhere"),
        ("export_trials", "nowhere", "--set", "all", "--output", "never.csv"),
        ("set_recruitment", "nowhere", "open"),
        ("chores", "exclusions", "nowhere"),
        ("create_study", "not a slug"),
        ("create_study", "ours", "--items", "nowhere"),
        ("study_versions", "nowhere"),
        ("study_versions", "memory", "--compare", "1", "2"),
        ("load_demo", "--simulate", "-1"),
    ],
    ids=" ".join,
)
def test_a_failure_is_one_json_object_too(arguments):
    make_study()
    printed, error = run(*arguments)
    assert error is not None
    assert json.loads(printed) == {"error": str(error)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("set_recruitment", "memory", "pilot"),
        ("chores", "exclusions", "memory"),
        ("study_versions", "memory"),
        ("simulate_participants", "memory", "--finish", "1"),
        ("create_admin",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_success_is_one_json_object(arguments):
    make_study()
    printed, error = run(*arguments)
    assert error is None
    assert isinstance(json.loads(printed), dict)
