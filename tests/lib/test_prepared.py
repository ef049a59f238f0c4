"""A query that is written once gives what the query set gives, for any values and in any thread."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import Count

from experiment.models import Participant, Trial
from lib.fast.prepared import Prepared
from tests.factories import NOW, make_participant, make_study

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def by_public_id(public_id: uuid.UUID, slug: str):
    people = Participant.objects.select_related("study")
    return people.filter(public_id=public_id, study__slug=slug)


def seen_since(study: int, moment):
    people = Participant.objects.filter(study=study, last_seen_at__gte=moment)
    return people.order_by("pk").values_list("pk", "seed").annotate(n=Count("trials"))


IDS = (uuid.UUID(int=1), uuid.UUID(int=2))


def test_model_instances_are_the_query_sets_own() -> None:
    study = make_study()
    people = [make_participant(study), make_participant(study, judged=2)]
    find = Prepared(by_public_id, IDS, ("a", "b"))
    for person in people * 2:
        (found,) = find(person.public_id, study.slug)
        assert found == person
        assert (
            found.__dict__.keys() == by_public_id(person.public_id, study.slug)[0].__dict__.keys()
        )
        assert found.demographics == person.demographics
        assert found.study == study
        assert found.last_seen_at == person.last_seen_at
    assert find(people[0].public_id, "another") == []
    assert find(uuid.uuid4(), study.slug) == []


def test_tuples_times_and_aggregates_are_too() -> None:
    study = make_study()
    make_participant(study, judged=2, last_seen_at=NOW)
    make_participant(study, judged=3, last_seen_at=NOW + timedelta(hours=1))
    find = Prepared(seen_since, (1, 2), (NOW, NOW + timedelta(days=1)))
    for moment in (NOW, NOW + timedelta(minutes=1), NOW + timedelta(hours=2)):
        assert find(study.pk, moment) == list(seen_since(study.pk, moment))
    assert [n for *_, n in find(study.pk, NOW)] == [2, 3]


def test_the_sql_is_written_once(django_assert_num_queries) -> None:
    study = make_study()
    person = make_participant(study, judged=2)
    find = Prepared(lambda pk: Trial.objects.filter(participant=pk).order_by("pk"), (1, 2))
    find(person.pk)
    written = find._local.written
    with django_assert_num_queries(1):
        found = find(person.pk)
    assert found == list(Trial.objects.order_by("pk"))
    assert find._local.written is written


def test_a_value_that_changes_the_query_is_refused() -> None:
    def trials(order: str):
        return Trial.objects.order_by(order)

    with pytest.raises(ValueError, match="value 0"):
        Prepared(trials, ("pk", "position"))("pk")


@pytest.mark.django_db(transaction=True)
def test_threads_do_not_mix_their_values() -> None:
    study = make_study()
    people = [make_participant(study, judged=1) for _ in range(8)]
    find = Prepared(by_public_id, IDS, ("a", "b"))

    def look(n: int) -> bool:
        person = people[n % len(people)]
        try:
            return find(person.public_id, study.slug) == [person]
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(look, range(200)))


@pytest.mark.django_db(transaction=True)
def test_it_takes_locks_within_a_transaction() -> None:
    person = make_participant(make_study(), judged=1)
    with transaction.atomic():
        find = Prepared(
            lambda pk: Participant.objects.select_for_update(no_key=True).filter(pk=pk), (1, 2)
        )
        assert find(person.pk) == [person]
        if connection.vendor == "postgresql":
            assert "FOR NO KEY UPDATE" in find._local.written.compiler.sql
