"""A training is asked for and done: a model that is registered and scored, and what becomes of one that is stopped or killed."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from experiment.models import Study
from lib.jobs import leases, worker
from lib.jobs.queue import kinds
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import ScoringError
from scoring.models import Corpus, LanguageModel, ScoringRun, Training
from scoring.services.adapters import runs_with_adapters
from scoring.services.asking.settings import Asked
from scoring.services.choosing.runs import choice_run
from scoring.services.execute import execute
from scoring.services.open_model import ensure_language_model, language_model
from scoring.services.runs import queue_runs
from scoring.services.summary import count_by_run
from scoring.services.training import models, run
from scoring.training.corpus.manifest import open_corpus
from scoring.training.settings import Point, TrainingError
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.scoring.commands import environment
from tests.scoring.training.lm.made import make_tokenizer_folder, small
from tests.scoring.trainings import asked, build_onions, folders_in

pytestmark = pytest.mark.django_db
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass


def told(training: Training) -> list[tuple[int, float | None, float | None]]:
    return list(training.points.values_list("step", "loss", "held_out_loss"))


def test_a_finished_training_is_a_model_that_is_scored_with_its_base_and_its_steps(
    corpus: Corpus, study: Study
) -> None:
    training = run.run(asked(corpus, keep=(1, 2)))
    assert (training.status, training.error) == ("finished", "")
    assert training.identity["weights_sha256"]
    is_registered(training)

    queued = models.score_result(training, study, None)
    base, tuned = (execute(one.waiting[0]) for one in queued)
    assert (base.status, tuned.status) == ("finished", "finished"), (base.error, tuned.error)
    assert (base.backend, tuned.language_model) == ("embedded", training.language_model)
    assert tuned.identity["adapter_sha256"]
    assert list(runs_with_adapters()) == [], "the model that ships reads none unasked"
    again = models.score_result(training, study, None)
    assert len(again) == 1, "the base was scored"

    assert models.kept_steps(training) == [0, 1, 2]
    counted = count_by_run(study, "full")
    seen = ScoringRun.objects.seen_in([study], checkpoints=True)
    n_before = seen.count()
    for queued_step in models.score_checkpoints(training, study, None):
        assert execute(queued_step.waiting[0]).status == "finished"
    found = models.results(training, study)
    assert [one.step for one in found] == [0, 1, 2]
    assert found[0].tokens == 0 < found[1].tokens < found[2].tokens
    assert found[0].ppl_original != found[2].ppl_original
    assert count_by_run(study, "full") == counted, "steps stay out of the results"
    assert seen.all().count() == n_before + 3
    assert models.score_checkpoints(training, study, None) == []


def is_registered(training: Training) -> None:
    """Bound to how it was made."""
    model = LanguageModel.objects.get(name="lab/onion-lm")
    assert training.language_model == model
    assert model.tuned_from == training.base
    assert model.is_demo, "as its base is"
    assert model.training_cutoff is None, "its base's is not known"
    manifest = training.manifest
    assert manifest["corpus_sha256"] == training.corpus.sha256
    assert manifest["recipe"]["seed"] == 1
    assert manifest["held_out_loss"] < manifest["untrained_held_out_loss"]
    assert set(manifest["files"]) >= {"adapter_config.json", "adapter_model.safetensors"}
    assert model.n_parameters == manifest["parameters"]
    assert dict(model.training_corpora.values_list("corpus", "status")) == {"onions": "known"}
    points = told(training)
    assert (points[0][0], points[-1][0]) == (0, training.total), "before the first step, too"
    assert points[0][2] == manifest["untrained_held_out_loss"]
    assert training.done == training.total == manifest["steps"]
    assert training.tokens == manifest["tokens"]


def test_a_model_from_scratch_knows_nothing_after_its_last_text(corpus: Corpus) -> None:
    folder = make_tokenizer_folder(open_corpus(corpus.folder), corpus.folder.parent / "tokens")
    settings = small("scratch", limit=2)
    training = run.run(asked(corpus, settings=settings, base="", tokenizer=str(folder)))
    assert (training.status, training.error) == ("finished", "")
    assert training.language_model is not None
    assert training.language_model.training_cutoff == date(2019, 8, 31)
    assert not training.language_model.is_demo
    assert models.model_args(training) == {"pretrained": str(training.output)}


def test_a_model_that_read_a_text_without_a_date_has_no_cutoff(
    settings: Any, tmp_path: Path
) -> None:
    folders_in(settings, tmp_path)
    corpus = build_onions(tmp_path / "others.jsonl", ["2010"] * 20 + ["2021-02-30"])
    folder = make_tokenizer_folder(open_corpus(corpus.folder), tmp_path / "tokens")
    about = {"settings": small("scratch", limit=2), "base": "", "tokenizer": str(folder)}
    training = run.run(asked(corpus, **about))
    assert (training.status, training.error) == ("finished", "")
    assert training.language_model is not None
    assert training.language_model.training_cutoff is None
    made, read = training.manifest, corpus.manifest
    assert (made["last_published"], made["undated"]) == ("2010", read["years"]["unknown"])
    train = read["train"]
    assert (made["corpus_documents"], made["corpus_tokens"]) == (
        train["documents"],
        train["tokens"],
    )


def test_a_stopped_training_goes_on_where_it_was_and_doubles_no_point(corpus: Corpus) -> None:
    whole = run.run(asked(corpus, "whole"))

    def stop_once(job: Training, point: Point) -> None:
        if point.step == 3 and not stopped:
            stopped.append(point.step)
            Training.objects.filter(pk=job.pk).update(cancel_requested=True)

    stopped: list[int] = []
    training = run.run(asked(corpus), stop_once)
    assert (training.status, stopped) == ("cancelled", [3])
    training = run.run(asked(corpus), stop_once)
    assert training.status == "finished"
    assert told(training) == told(whole)
    assert weights(training) == weights(whole)


def test_a_corpus_that_was_changed_since_is_not_trained_on(corpus: Corpus) -> None:
    training = asked(corpus)
    next(corpus.folder.glob("train-*")).write_bytes(b"else")
    training = run.run(training)
    assert training.status == "failed"
    assert "has changed since it was built" in training.error
    assert not LanguageModel.objects.filter(name=training.name).exists()


def weights(training: Training) -> dict[str, list[Any]]:
    file = training.output / "adapter_model.safetensors"
    return {name: tensor.tolist() for name, tensor in load_file(file).items()}


def until(condition: Any) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.sweep
@pytest.mark.django_db(transaction=True)
def test_a_killed_workers_training_is_gone_on_with_by_the_next_one_to_the_same_weights(
    corpus: Corpus, tmp_path: Path
) -> None:
    settings = small("lora", limit=60, epochs=6)
    training, whole = asked(corpus, settings=settings), asked(corpus, "whole", settings=settings)

    def start_worker() -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "manage.py", "work"],
            cwd=ROOT,
            env=environment(tmp_path, JOB_APPS="training", JOB_STALE_SECONDS="5"),
            start_new_session=True,
        )

    worker = start_worker()
    try:
        until(lambda: training.points.filter(step__gte=4).exists())
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        training.refresh_from_db()
        assert 4 <= training.done < training.total
        worker = start_worker()
        until(lambda: Training.objects.filter(status="finished").count() == 2)
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    training.refresh_from_db()
    assert [step for step, *_ in told(training)] == [step for step, *_ in told(whole)]
    assert weights(training) == weights(whole)
    assert math.isfinite(training.manifest["held_out_loss"])
    assert json.loads((training.output / "training.json").read_text())["corpus"]["name"] == "onions"


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
        ({"name": "lab/known"}, "A model “lab/known” already exists"),
        ({"name": "Lab/Onion LM"}, "folder lab.?onion-lm of trained models already exists"),
        ({"name": "??"}, "a letter for the name of a folder"),
        ({"name": "mistralai/Mistral-7B-v0.1"}, "is the name of a published model"),
        ({"name": "mistralai/mistral-7b-v0.1"}, "looks like the name of another"),
        ({"name": DEMO_NAME}, "is the name of a published model"),
        ({"name": "lab/own", "base": "lab/own"}, "A model “lab/own” already exists"),
        ({"name": "lab/onion-lm @ step 1"}, "“ @ ” is for"),
        ({"name": "lab/kept"}, "“lab/kept” already exists"),
        ({"base": ""}, "Name the model that the training starts from."),
        ({"settings": small("scratch")}, "does not have a base model"),
        ({"settings": small("scratch"), "base": ""}, "needs a tokenizer"),
        ({"settings": small("lora", seed=2)}, "with other settings will make “lab/onion-lm”"),
        ({"keep": (2,)}, r"saves other steps \(none\)"),
    ],
)
def test_impossible_values_are_refused_and_leave_no_row(
    corpus: Corpus, changes: dict[str, Any], words: str
) -> None:
    ensure_language_model("lab/known")
    ensure_language_model("lab/kept @ step 2")
    asked(corpus)
    with pytest.raises(TrainingError, match=words):
        asked(corpus, **({"name": "lab/onion-lm"} | changes))
    assert Training.objects.count() == 1


@pytest.mark.parametrize("status", ["waiting", "running", "failed", "cancelled"])
def test_the_name_of_a_training_is_kept_for_the_model_that_it_will_make(
    corpus: Corpus, status: str
) -> None:
    name = asked(corpus).name
    Training.objects.update(status=status)
    study, args = make_study(), {"pretrained": "lab/other"}
    doors: list[Callable[[], Any]] = [
        lambda: queue_runs(
            study, backend="transformers", model_args=args, conditions=["full"], name=name
        ),
        lambda: choice_run(study, Asked("hf", args), name=name),
        lambda: language_model("imported", name),
        lambda: language_model("chat", f"{name} @ step 2"),
    ]
    for door in doors:
        with pytest.raises(ScoringError, match="a training of this site"):
            door()
    assert not LanguageModel.objects.filter(name__startswith=name).exists()
    assert ensure_language_model(f"{name}-2").name == f"{name}-2"


@pytest.mark.parametrize("name", ["lab/onion-lm", "lab/onion-1m"])
def test_a_training_ends_well_also_where_its_name_was_given_away(corpus: Corpus, name: str) -> None:
    """The administration may add a model of any name."""
    training = asked(corpus)
    other = LanguageModel.objects.create(name=name, display_name="m")
    ScoringRun.objects.create(language_model=other, backend="imported", is_site_wide=True)
    training = run.run(training)
    assert (training.status, training.error) == ("finished", "")
    made = training.language_model
    assert made is not None
    assert made.name == training.manifest["name"] == f"lab/onion-lm @ training {training.pk}"


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
