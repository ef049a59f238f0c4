"""Queueing a run on the lab's page: what is queued, and what is refused."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client

from experiment.models import Study
from lib.jobs.models import LivingWorker
from scoring.models import LanguageModel, ScoringRun
from tests.scoring.lab.rows import form, shown, url

pytestmark = pytest.mark.django_db


def test_a_queued_run_waits_and_its_page_says_at_once_that_no_worker_lives(
    ruth: Client, study: Study
) -> None:
    response = ruth.post(url("scoring_queue"), form(prompt="clean", limit="5", batch_tokens="900"))
    run = ScoringRun.objects.get()
    assert response["Location"] == url("scoring_run", run.pk)
    assert (run.status, run.total, run.prompt, run.limit) == ("waiting", 5, "clean", 5)
    assert (run.backend, run.model_args) == ("transformers", {"pretrained": "lab/tiny"})
    assert (run.batch_tokens, run.created_by.username) == (900, "ruth")
    page = shown(ruth, "scoring_run", run.pk)
    assert "No worker is running" in page
    assert f"Run {run.pk} is queued." in page
    LivingWorker.objects.create(name="lab7:1:1.1:aaaa", kinds=["scoring.scoringrun"], beat_at=Now())
    page = shown(ruth, "scoring_run", run.pk)
    assert "No worker is running" not in page


def test_several_conditions_make_several_runs(ruth: Client, study: Study) -> None:
    response = ruth.post(
        url("scoring_queue"),
        form(conditions=["full", "swapped"], source="human", seed="7", name="Tiny one"),
    )
    assert response["Location"] == url("scoring")
    found = ScoringRun.objects.order_by("pk").values_list("condition", "seed", "source")
    assert list(found) == [("full", None, "human"), ("swapped", 7, "human")]
    assert LanguageModel.objects.get().name == "Tiny one"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model_args": ""}, "Say which model is meant: pretrained=FOLDER"),
        ({"model_args": "pretrained"}, "“pretrained” is not written as name=value."),
        ({"model_args": "pretrained=a,pretrained=b"}, "pretrained is given twice."),
        (
            {"model_args": "pretrained=a,trust_remote_code=True"},
            "trust_remote_code is not known here: this kind of model takes pretrained",
        ),
        ({"model": "embedded"}, "--model embedded takes no pretrained"),
        ({"model_args": "pretrained=a,overlong=fold"}, "choose one of refuse, truncate, rolling"),
        ({"model_args": "pretrained=a,batch_size=2", "batch_tokens": "9"}, "both say how much"),
        ({"model": "completions", "model_args": "model=m"}, "needs base_url and tokenizer"),
        (
            {
                "model": "completions",
                "model_args": "base_url=http://10.0.0.9:80,model=m,tokenizer=t",
            },
            "10.0.0.9 is not among the hosts that texts may be sent to",
        ),
        (
            {
                "model": "completions",
                "model_args": "base_url=http://u:secret@localhost,model=m,tokenizer=t",
            },
            "base_url holds a user name or password",
        ),
        ({"prompt": "custom", "custom_prompt": "Read:"}, "give a text that says once"),
        ({"custom_prompt": "Read: <choice abstract>"}, "goes with the prompt “custom”"),
        ({"conditions": []}, "This field is required."),
        ({"conditions": ["shuffled"]}, "shuffled is not one of the available choices"),
        ({"limit": "0"}, "greater than or equal to 1"),
        ({"seed": "99999999999"}, "less than or equal to 2147483647"),
        ({"model": "imported"}, "imported is not one of the available choices"),
        ({"name": "x" * 201}, "at most 200 characters"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_a_sentence(
    ruth: Client, study: Study, fields: dict[str, Any], sentence: str
) -> None:
    response = ruth.post(url("scoring_queue"), form(**fields))
    page = response.content.decode()
    assert response.status_code == 422
    assert sentence in page
    assert "<title>Error: " in page
    assert "secret" not in re.sub(r"u:secret@localhost,model=m,tokenizer=t\"", "", page)
    assert (ScoringRun.objects.count(), LanguageModel.objects.count()) == (0, 0)


def test_only_folders_below_the_models_folder_can_be_named(
    ruth: Client, study: Study, settings: Any, tmp_path: Path
) -> None:
    settings.MODELS_DIR = tmp_path / "models"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "models" / "lab" / "tiny").mkdir(parents=True)
    (tmp_path / "models" / "lab" / "tiny" / "config.json").write_text("{}")
    assert 'value="pretrained=lab/tiny"' in shown(ruth, "scoring")
    ruth.post(url("scoring_queue"), form(model_args="pretrained=lab/tiny"))
    path = str(tmp_path / "models" / "lab" / "tiny")
    assert ScoringRun.objects.get().model_args == {"pretrained": path}
    for outside in ("../elsewhere", f"{tmp_path}/elsewhere", "/etc", ".", "scoring/demo_lm"):
        for args in (f"pretrained={outside}", f"pretrained=lab/tiny,peft={outside}"):
            answer = ruth.post(url("scoring_queue"), form(model_args=args))
            assert (answer.status_code, ScoringRun.objects.count()) == (422, 1), args


def test_servers_of_the_sites_list_are_let_through(
    ruth: Client, study: Study, settings: Any
) -> None:
    settings.SCORING_HOSTS = ["gpu.lab"]
    args = "base_url=http://gpu.lab:8000,model=m,tokenizer=lab/m"
    response = ruth.post(url("scoring_queue"), form(model="completions", model_args=args))
    assert response.status_code == 302
    assert ScoringRun.objects.get().model_args["base_url"] == "http://gpu.lab:8000"
