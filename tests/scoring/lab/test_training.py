"""The lab's pages about corpora and trainings: who sees what, and what is asked for wrongly."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from experiment.models import AuditEvent, Study
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.lab.training_page import PER_PAGE
from scoring.models import Corpus, LanguageModel, Training
from scoring.services.open_model import ensure_language_model
from tests.analysis.data.choosing import choose
from tests.analysis.data.scored import score
from tests.factories import make_item, make_study, make_user
from tests.scoring.trainings import asked, build_onions, folders_in

pytestmark = pytest.mark.django_db
ASKED = {"name": "lab/onion-lm", "corpus": "onions", "preset": "tiny", "mode": "lora", "base": DEMO_NAME}  # fmt: skip


@pytest.fixture
def corpus(settings: Any, tmp_path: Path) -> Corpus:
    folders_in(settings, tmp_path)
    return build_onions(tmp_path / "papers.jsonl")


def test_a_form_makes_a_training_that_waits_says_who_asked_and_is_stopped_and_goes_on(
    ruth: Client, corpus: Corpus
) -> None:
    answer = ruth.post("/lab/training/start/", {**ASKED, "epochs": "0.5", "keep": "2, 1"})
    training = Training.objects.get()
    assert answer["Location"] == training.get_absolute_url()
    assert (training.keep, training.recipe["epochs"]) == ([1, 2], 0.5)
    page = ruth.get(training.get_absolute_url()).text
    assert "No training worker is running" in page
    assert "A step reads 1,024 tokens" in page
    event = AuditEvent.objects.get(action="work_started")
    assert (event.actor, event.details["kind"]) == ("ruth", "scoring.training")
    ruth.post(f"{training.get_absolute_url()}stop/")
    training.refresh_from_db()
    assert training.status == "cancelled"
    assert "resume-training" in ruth.get(training.get_absolute_url()).text
    ruth.post(f"{training.get_absolute_url()}resume/")
    training.refresh_from_db()
    assert training.status == "waiting"


def test_a_training_is_stopped_and_continued_by_whoever_started_it_alone(
    ruth: Client, corpus: Corpus
) -> None:
    ruth.post("/lab/training/start/", {**ASKED, "epochs": "0.5", "keep": "1"})
    training = Training.objects.get()
    other = Client()
    other.force_login(make_user("eve", make_study("eves")))
    assert "stop-training" not in other.get(training.get_absolute_url()).text
    assert other.post(f"{training.get_absolute_url()}stop/").status_code == 403
    ruth.post(f"{training.get_absolute_url()}stop/")
    assert "resume-training" not in other.get(training.get_absolute_url()).text
    assert other.post(f"{training.get_absolute_url()}resume/").status_code == 403
    same = other.post("/lab/training/start/", {**ASKED, "epochs": "0.5", "keep": "1"})
    assert "which another person started" in same.text  # nor is it begun again by its form
    training.refresh_from_db()
    assert training.status == "cancelled"
    assert Training.objects.count() == 1


@pytest.mark.parametrize("status", ["waiting", "running", "failed"])
def test_no_training_takes_a_name_that_looks_like_that_of_anothers(
    ruth: Client, corpus: Corpus, status: str
) -> None:
    ruth.post("/lab/training/start/", {**ASKED, "name": "lab/boss"})
    Training.objects.update(status=status)
    other = Client()
    other.force_login(make_user("eve", make_study("eves")))
    answer = other.post("/lab/training/start/", {**ASKED, "name": "lab/bоss"})  # noqa: RUF001
    assert answer.status_code == 422
    assert "looks like the name of another training" in answer.text
    assert Training.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "lab/known"}, "A model “lab/known” already exists"),
        ({"base": "../secret"}, "neither a folder"),
        ({"keep": "1; 2"}, "not whole numbers"),
        ({"corpus": "leeks"}, "Select a valid choice"),
    ],
)
def test_invalid_values_are_refused_on_the_form(
    ruth: Client, corpus: Corpus, changes: dict[str, str], words: str
) -> None:
    ensure_language_model("lab/known")
    answer = ruth.post("/lab/training/start/", {**ASKED, **changes})
    assert answer.status_code == 422
    assert words in answer.text
    assert not Training.objects.exists()


def test_a_test_case_found_in_a_corpus_is_named_to_its_readers_alone(
    ruth: Client, corpus: Corpus, study: Study
) -> None:
    own = study.items.order_by("pk")[0]
    other = make_item("case-of-others", field="astronomy")
    left_out = [
        {"id": f"pmid:{n}", "title": f"Title {n}", "reason": "test case: text", "of": key}
        for n, key in enumerate((own.key, other.key))
    ]
    left_out += [
        {"id": f"pmid:{n}", "title": "", "reason": "same DOI", "of": "pmid:8"}
        for n in range(9, 9 + PER_PAGE)
    ]
    lines = "\n".join(json.dumps(line) for line in left_out)
    (corpus.folder / "excluded.jsonl").write_text(lines)
    page = ruth.get("/lab/training/corpora/onions/").text
    assert own.key in page
    assert "pmid:0" in page
    assert "pmid:8" in page
    assert other.key not in page
    assert "pmid:1<" not in page
    assert "you do not have access" not in page  # between its neighbours
    assert "you do not have access" in ruth.get("/lab/training/corpora/onions/?page=2").text
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    assert other.key in boss.get("/lab/training/corpora/onions/").text


@pytest.mark.parametrize("make", [score, choose])
def test_a_model_that_ran_for_another_lab_alone_is_as_good_as_none(
    ruth: Client, study: Study, corpus: Corpus, make: Callable[..., Any]
) -> None:
    other = make_study("other")
    make(other, "lab/secret", created_by=make_user("mallory", other))
    make(study, "gpt2")
    known, base = ensure_language_model("gpt2"), ensure_language_model("lab/base")
    published = ensure_language_model("gpt2-medium")
    secret = LanguageModel.objects.get(name="lab/secret")
    LanguageModel.objects.filter(pk=secret.pk).update(tuned_from=known)
    asked(corpus)
    Training.objects.update(base=base)
    page = ruth.get(f"/lab/training/models/{known.pk}/")
    assert (page.status_code, "lab/secret" in page.text) == (200, False)
    assert ruth.get(f"/lab/training/models/{base.pk}/").status_code == 200
    for other_labs in (secret, published):  # its number would tell when
        assert ruth.get(f"/lab/training/models/{other_labs.pk}/").status_code == 404
    make(study, "lab/secret")
    assert ruth.get(f"/lab/training/models/{secret.pk}/").status_code == 200
    assert "lab/secret" in ruth.get(f"/lab/training/models/{known.pk}/").text


def test_a_study_of_others_cannot_be_named_to_score_on(
    ruth: Client, corpus: Corpus, study: Study
) -> None:
    training = asked(corpus)
    Training.objects.update(status="finished", language_model=ensure_language_model("lab/x"))
    Study.objects.create(slug="elsewhere", title="Elsewhere")
    page = ruth.get(training.get_absolute_url()).text
    assert f'value="{study.slug}"' in page
    assert "elsewhere" not in page
    ruth.post(f"{training.get_absolute_url()}score/", {"study": "elsewhere"})
    assert not Study.objects.get(slug="elsewhere").scoring_runs.exists()


def test_a_queued_score_names_the_study_as_it_is_called(
    ruth: Client, corpus: Corpus, study: Study
) -> None:
    training = asked(corpus)
    Training.objects.update(status="finished", language_model=ensure_language_model("lab/x"))
    Study.objects.filter(pk=study.pk).update(title="Onions & leeks")
    page = ruth.post(f"{training.get_absolute_url()}score/", {"study": study.slug}, follow=True)
    assert (
        "Onions &amp; leeks is queued" in page.text or "Onions &amp; leeks are queued" in page.text
    )
