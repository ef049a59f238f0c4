"""An import of many test cases: as many queries as for few, whatever becomes of them."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from experiment.imports.store.plans import Action
from experiment.imports.store.writing import import_items
from experiment.models import Item
from tests.factories import make_research_field


def rows(n: int, word: str) -> bytes:
    return "\n".join(
        ("key,markup", *(f'a-{k},"{word} {k} [[rose | fell]]."' for k in range(n)))
    ).encode()


@pytest.mark.django_db
def test_many_rows_take_no_more_queries_than_few():
    cooking = make_research_field("cooking")
    queries: list[list[int]] = []
    for n in (8, 80):
        asked = []
        with transaction.atomic():
            for word, status in (("Salt", "draft"), ("Sugar", "draft"), ("Oil", "accepted")):
                Item.objects.update(status=status)
                with CaptureQueriesContext(connection) as found:
                    plan = import_items(rows(n, word), cooking)
                assert plan.count(Action.CREATE) + plan.count(Action.UPDATE) == n
                asked.append(len(found))
            assert Item.objects.count() == 2 * n
            transaction.set_rollback(True)
        queries.append(asked)
    # A statement takes so many values and no more
    assert all(many <= few + 2 for few, many in zip(*queries, strict=True))
