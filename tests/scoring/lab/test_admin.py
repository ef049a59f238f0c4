"""The administration of the models' side: what can be changed there, and what only be read."""

import pytest
from django.test import Client
from django.urls import reverse

from scoring.models import CorpusScore, ItemScore, LanguageModel, ScoringRun, UnscoredText
from scoring.services.execute import execute
from tests.factories import make_study, make_user
from tests.forms import Browser, form_at
from tests.scoring.made_runs import ask
from tests.scoring.ngram_backend import NgramBackend

pytestmark = pytest.mark.django_db
READ_ONLY = (ScoringRun, ItemScore, UnscoredText, CorpusScore)


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def finished() -> ScoringRun:
    """A run on a study with scores, and beside it one on a corpus with a text that could not be scored."""
    run = execute(ask(make_study(human=2, machine=1)), backend=NgramBackend())
    corpus = ScoringRun.objects.create(
        corpus="prose", language_model=run.language_model, backend="transformers"
    )
    CorpusScore.objects.create(run=corpus, row=1, ppl=9.5, zlib_bytes=40)
    UnscoredText.objects.create(run=corpus, unit=2, name="row 2", reason="is empty")
    return run


def page(model: type, name: str, *args: object) -> str:
    return reverse(f"admin:scoring_{model._meta.model_name}_{name}", args=args)


@pytest.mark.parametrize("model", READ_ONLY)
def test_runs_and_scores_are_read_and_changed_nowhere(
    boss: Client, finished: ScoringRun, model: type
) -> None:
    row = model.objects.first()
    assert row is not None
    listed = boss.get(page(model, "changelist"))
    assert listed.status_code == 200
    assert boss.get(page(model, "change", row.pk)).status_code == 200
    assert boss.get(page(model, "add")).status_code == 403
    assert boss.post(page(model, "change", row.pk), {"row": 5}).status_code == 403
    assert boss.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()


def test_a_language_model_is_edited_but_keeps_the_name_it_was_scored_under(
    boss: Client, finished: ScoringRun
) -> None:
    model = finished.language_model
    corpora = "training_corpora"
    form = {
        "name": "another",
        "display_name": "Two words",
        "family": "N-grams",
        "training_cutoff": "2024-06-30",
        "note": "",
        f"{corpora}-TOTAL_FORMS": 1,
        f"{corpora}-INITIAL_FORMS": 0,
        f"{corpora}-0-corpus": "prose",
        f"{corpora}-0-status": "known",
    }
    boss.post(page(LanguageModel, "change", model.pk), form)
    model.refresh_from_db()
    assert (model.name, model.display_name, model.family) == ("bigrams", "Two words", "N-grams")
    assert str(model.training_cutoff) == "2024-06-30"
    assert list(model.training_corpora.values_list("corpus", "status")) == [("prose", "known")]
    unused = LanguageModel.objects.create(name="unused", display_name="Unused")
    boss.post(page(LanguageModel, "change", unused.pk), form)
    unused.refresh_from_db()
    assert unused.name == "another"


def test_rows_of_a_model_that_somebody_else_has_changed_are_not_written_over(
    client: Browser,
) -> None:
    client.force_login(make_user("chief", is_superuser=True, is_staff=True))
    model = LanguageModel.objects.create(name="one", display_name="One")
    url = page(LanguageModel, "change", model.pk)
    mine = form_at(client, url)
    assert mine
    model.training_corpora.create(corpus="prose", status="known")
    told = Client.post(client, url, mine.filled(display_name="Uno", _save="Save"))
    assert (told.status_code, "Others have changed this" in told.text) == (200, True)
    model.refresh_from_db()
    assert model.display_name == "One"
