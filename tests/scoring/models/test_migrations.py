"""Databases of earlier releases keep what they hold, and learn what is published of their models."""

from collections.abc import Callable, Iterator

import pytest
from django.apps.registry import Apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]

Migrate = Callable[[str], Apps]


@pytest.fixture
def migrate() -> Iterator[Migrate]:
    def to(name: str) -> Apps:
        call_command("migrate", "scoring", name, verbosity=0)
        return MigrationExecutor(connection).loader.project_state([("scoring", name)]).apps

    yield to
    call_command("migrate", verbosity=0)


def test_published_models_learn_what_is_known_of_their_training(migrate: Migrate) -> None:
    models = migrate("0003_runs_belong_to_items").get_model("scoring", "LanguageModel").objects
    for name in ("facebook/galactica-30b", "mistralai/Mistral-7B-v0.1", "lab/own"):
        models.create(name=name, display_name=name)
    new = migrate("0004_training_facts")
    models = new.get_model("scoring", "LanguageModel").objects
    days = {m.name: (str(m.training_cutoff), str(m.released)) for m in models.all()}
    assert days == {
        "facebook/galactica-30b": ("2022-07-31", "2022-11-30"),
        "mistralai/Mistral-7B-v0.1": ("None", "2023-09-30"),
        "lab/own": ("None", "None"),
    }
    corpora = new.get_model("scoring", "TrainingCorpus").objects
    assert corpora.filter(language_model__name="lab/own").count() == 0
    assert (
        corpora.get(
            language_model__name="facebook/galactica-30b",
            corpus="biorxiv_abstracts_2021-06-01_2021-12-01",
        ).status
        == "known"
    )
