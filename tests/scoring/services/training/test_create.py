"""A training is asked for, and waits in a queue of its own."""

from typing import Any

import pytest

from config.celery import app
from lib.jobs import leases, queue, worker
from lib.jobs.queue import kinds
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import Corpus, LanguageModel, ScoringRun, Training
from scoring.services.open_model import ensure_language_model
from scoring.training.settings import TrainingError
from tests.scoring.training.lm.made import small
from tests.scoring.trainings import asked

pytestmark = pytest.mark.django_db


def test_a_training_waits_and_names_the_model_that_it_starts_from(corpus: Corpus) -> None:
    training = asked(corpus)
    assert (training.status, training.mode, training.done) == ("waiting", "lora", 0)
    assert training.base == LanguageModel.objects.get(name=DEMO_NAME)
    assert training.base.is_demo
    assert training.recipe["lora"]["rank"] == 4


def test_the_same_training_asked_for_again_is_the_one_that_waits_or_goes_on(corpus: Corpus) -> None:
    first = asked(corpus)
    assert asked(corpus) == first
    leases.request_cancel(first)
    assert asked(corpus).status == "waiting"
    assert Training.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "lab/known"}, "There is a model “lab/known”"),
        ({"name": "Lab/Onion LM"}, "folder lab.onion-lm of trained models is taken|is taken"),
        ({"name": "??"}, "no letter that a folder could be named by"),
        ({"name": "x" * 181}, "181"),
        ({"name": "lab\nx"}, "one line"),
        ({"base": ""}, "Name the model that the training starts from."),
        ({"settings": small("scratch")}, "starts from no other model"),
        ({"settings": small("scratch"), "base": ""}, "needs a tokenizer"),
        ({"settings": small("lora", seed=2)}, "of other settings is to make “lab/onion-lm”"),
        ({"name": "lab/x", "tokenizer": "own"}, "Only a model from scratch has a tokenizer"),
        ({"keep": (2,)}, r"keeps other steps \(none\)"),
    ],
)
def test_what_cannot_be_meant_is_refused_and_leaves_no_row(
    corpus: Corpus, changes: dict[str, Any], words: str
) -> None:
    ensure_language_model("lab/known")
    asked(corpus)
    with pytest.raises(TrainingError, match=words):
        asked(corpus, **({"name": "lab/onion-lm"} | changes))
    assert Training.objects.count() == 1


def test_other_texts_other_settings_or_another_seed_are_another_training(corpus: Corpus) -> None:
    prints = {
        asked(corpus, "a").fingerprint,
        asked(corpus, "b", settings=small("lora", seed=2)).fingerprint,
        asked(corpus, "c", revision="other").fingerprint,
    }
    Corpus.objects.update(sha256="0" * 64)
    corpus.refresh_from_db()
    prints.add(asked(corpus, "d").fingerprint)
    assert len(prints) == 4
    assert asked(corpus, "e").fingerprint in prints, "a name decides no weights"


def test_a_machine_that_scores_takes_no_training_and_one_that_trains_nothing_else(
    settings: Any, corpus: Corpus
) -> None:
    training = asked(corpus)
    settings.JOB_APPS = ["experiment", "scoring", "analysis"]
    assert ScoringRun in kinds()
    assert worker.next_job() is None
    settings.JOB_APPS = ["training"]
    assert kinds() == [Training]
    assert worker.next_job() == training


def test_messages_about_trainings_go_to_their_own_queue() -> None:
    assert queue._queue(app, "scoring.training").endswith("-training")
    assert queue._queue(app, "scoring.scoringrun").endswith("-scoring")
