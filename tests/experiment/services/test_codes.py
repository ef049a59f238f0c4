"""Participants' own codes are found and shown with the site's key alone."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from experiment.domain.withdrawal_code import ALPHABET, new_code, seal, unseal
from experiment.models import Participant, Study
from experiment.services.consenting import find_by_code
from tests.experiment.people import enroll
from tests.factories import make_study

OLD, NEW = "old-key-" * 8, "new-key-" * 8


def test_a_code_is_sealed_into_any_other_with_equal_chance() -> None:
    code = new_code()
    seen = {seal(code, OLD, str(owner))[0] for owner in range(600)}
    assert seen == set(ALPHABET)
    assert unseal(seal(code, OLD, "x"), NEW, "x") != code


@pytest.mark.django_db
def test_no_column_holds_a_code_and_its_owner_is_found_however_it_is_typed(
    settings: Any, study: Study
) -> None:
    person = enroll(study)
    code = person.withdrawal_code
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM experiment_participant")
        row = str(cursor.fetchone())
    assert len(code) == 14
    assert code not in row
    assert code.replace("-", "") not in row
    bare = code.replace("-", "").lower()
    for typed in (code.lower(), bare, f"  {code.replace('-', ' ')} "):
        assert find_by_code(person.study, typed) == person
    assert find_by_code(make_study("other"), code) is None
    settings.WITHDRAWAL_KEY = NEW
    assert person.withdrawal_code == ""
    assert find_by_code(person.study, code) is None


@pytest.mark.django_db
def test_a_changed_key_keeps_the_codes_that_participants_wrote_down(
    settings: Any, tmp_path: Path, study: Study
) -> None:
    settings.WITHDRAWAL_KEY = OLD
    people = [enroll(study) for _ in range(3)]
    codes = [person.withdrawal_code for person in people]
    (tmp_path / "old").write_text(f"{OLD}\n")
    (tmp_path / "wrong").write_text("another")
    settings.WITHDRAWAL_KEY = NEW
    with pytest.raises(CommandError, match="3 codes belong to neither"):
        call_command("chores", "codes", old_key=tmp_path / "wrong")
    call_command("chores", "codes", old_key=tmp_path / "old", verbosity=0)
    assert [person.withdrawal_code for person in Participant.objects.order_by("pk")] == codes
