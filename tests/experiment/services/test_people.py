"""The list of participants: who is in it, in which order, and that no page of it costs more than another."""

import pytest
from django.utils import timezone

from experiment.models import Study
from experiment.services import people as listing
from experiment.services.people import Status, Wanted, people
from experiment.services.withdrawal import withdraw
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


def test_pages_hold_everyone_once_newest_first(
    study: Study, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries
) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    made = [make_participant(study, judged=0).public_id for _ in range(5)]
    make_participant(study, kind="pilot")
    seen, after = [], None
    for n_queries in (1, 2, 2):
        with django_assert_num_queries(n_queries):
            page = people(study, Wanted("real", after=after))
        seen += [line.person.public_id for line in page.lines]
        after = page.next_after
    assert seen == made[::-1]
    assert after is None


@pytest.mark.parametrize(
    ("status", "who"),
    [
        (None, "abcdefg"),
        (Status.UNDER_WAY, "a"),
        (Status.LEFT, "b"),
        (Status.FINISHED, "cde"),
        (Status.VALID, "c"),
        (Status.EXCLUDED, "de"),
        (Status.WITHDRAWN, "f"),
        (Status.NOT_ADMITTED, "g"),
    ],
)
def test_each_status_holds_its_own(study: Study, status: Status | None, who: str) -> None:
    now = timezone.now()
    made = {
        "a": make_participant(study, judged=1, last_seen_at=now),
        "b": make_participant(study, judged=1, left_at=now),
        "c": make_participant(study),
        "d": make_participant(study, excluded_by="missed_catch"),
        "e": make_participant(study, excluded_by="missed_catch untouched_sliders"),
        "f": make_participant(study),
        "g": make_participant(study, judged=0, last_seen_at=now, screened_out_at=now),
    }
    withdraw(study, made["f"].withdrawal_code, now)
    names = {person.public_id: name for name, person in made.items()}
    found = people(study, Wanted("real", status)).lines
    assert sorted(names[line.person.public_id] for line in found) == list(who)
    if status and status != Status.FINISHED:
        assert {line.status for line in found} == {status}


def test_a_reason_is_a_whole_code_and_a_pseudonym_is_found_by_its_beginning(study: Study) -> None:
    both = make_participant(study, excluded_by="missed_catch untouched_sliders")
    make_participant(study, excluded_by="missed_catch_2")
    make_participant(study)
    (line,) = people(study, Wanted("real", reason="missed_catch")).lines
    assert line.person.public_id == both.public_id
    assert [reason.label for reason in line.reasons] == [
        "missed a catch trial",
        "never moved a slider",
    ]
    begin = str(both.public_id)
    for n in (8, 12, 36):
        found = people(study, Wanted("real", pseudonym=begin[:n])).lines
        assert both.public_id in {line.person.public_id for line in found}
    assert all(str(line.person.public_id).startswith(begin[:8]) for line in found)


def test_a_page_after_somebody_of_another_study_begins_at_the_newest(study: Study) -> None:
    stranger = make_participant(make_study("other"))
    own = make_participant(study)
    assert people(study, Wanted("real", after=stranger.public_id)).lines[0].person.public_id == (
        own.public_id
    )
