import pytest

from benchmarks.imports import measure_import
from experiment.models import Item


@pytest.mark.django_db
def test_an_import_is_measured_in_a_database_of_its_own():
    before = Item.objects.count()
    assert measure_import(6) > 0
    assert Item.objects.count() == before
