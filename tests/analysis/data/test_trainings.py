"""A report's knowledge of trainings: the summaries of those that made its models; points along them are left out."""

from datetime import date
from typing import Any

import pytest

from analysis.data.item_figures import model_figures
from experiment.models import Study
from scoring.models import Checkpoint, Corpus, Training
from tests.analysis.data.scored import read, score

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(study: Study) -> Training:
    """org/tuned was made from org/a, which both scored the study; org/step is a point on the way."""
    runs = [score(study, name) for name in ("org/a", "org/tuned", "org/step")]
    base, tuned, step = (run.language_model for run in runs)
    tuned.tuned_from = step.tuned_from = base
    tuned.save()
    step.save()
    corpus = Corpus.objects.create(
        slug="papers",
        sha256="0" * 64,
        manifest={"train": {"documents": 99, "tokens": 9999}, "last_published": "2024"},
    )
    made: dict[str, Any] = {
        "corpus_documents": 12,
        "corpus_tokens": 3400,
        "last_published": "2022-02",
        "trainable_parameters": 4096,
        "untrained_held_out_loss": 3.25,
        "held_out_loss": 2.5,
    }
    training = Training.objects.create(
        name="org/tuned",
        corpus=corpus,
        mode="lora",
        base=base,
        language_model=tuned,
        tokens=6800,
        manifest=made,
        fingerprint="f",
    )
    Checkpoint.objects.create(training=training, step=2, tokens=3400, language_model=step)
    return training


def test_a_model_trained_here_brings_the_corpus_that_it_read_and_losses(
    study: Study, training: Training
) -> None:
    data = read(study)
    (number,) = [n for n, name in enumerate(data.models["name"]) if name == "org/tuned"]
    assert data.trainings.keys() == {number}
    found = data.trainings[number]
    assert (found.corpus, found.mode, found.documents) == ("papers", "lora", 12)
    assert (found.corpus_tokens, found.tokens_seen) == (3400, 6800)
    assert found.last_published == date(2022, 2, 28)
    assert (found.held_out_before, found.held_out_after) == (3.25, 2.5)
    assert found.trainable_parameters == 4096


def test_a_corpus_with_undated_documents_has_no_last_day(study: Study, training: Training) -> None:
    Training.objects.update(manifest=training.manifest | {"undated": 1})
    (found,) = read(study).trainings.values()
    assert found.last_published is None


def test_points_along_a_training_are_no_models_of_the_results(
    study: Study, training: Training
) -> None:
    assert list(read(study).models["name"]) == ["org/a", "org/tuned"]
    found = model_figures(study.items.filter(kind="test"), Study.objects.all())
    assert {figures.n for figures in found.values()} == {2}
