"""A run's page in the lab: progress, figures, provenance, stopping and files."""

import csv
import io
import re
import shlex
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.utils import timezone

from experiment.models import Study
from scoring.lab.run_page import resume_command
from scoring.models import LanguageModel, ScoringRun
from scoring.services.execute import execute
from scoring.services.runs import draft_run, newest_same
from tests.factories import make_study
from tests.scoring.lab.rows import ask, finish, published, shown, store, url
from tests.scoring.ngram_backend import NgramBackend

pytestmark = pytest.mark.django_db


# A run


def test_a_finished_run_shows_figures_pairs_and_what_was_scored(ruth: Client, study: Study) -> None:
    identity = {
        "model": "lab/tiny",
        "weights_sha256": "0123" * 16,
        "dtype": "float32",
        "rung": "cache",
        "rungs_refused": {"packed": "off by 0.2"},
        "libraries": {"torch": "2.13.0"},
    }
    run = finish(ask(study), 9, near=1, identity=identity, scored_tokens=5000, scoring_seconds=2.0)
    page = shown(ruth, "scoring_run", run.pk)
    for text in (
        "75.0% <small>± 12.5</small>",
        "9 <small>of 12</small>",
        "<dd>50%</dd>",
        "2,500",
        "<code>" + "0123" * 16 + "</code>",
        "Faster strategies refused",
        '<span class="fact-name">packed</span> off by 0.2',
        "2.13.0",
        run.prompt_text.replace("<", "&lt;").replace(">", "&gt;"),
    ):
        assert text in page, text
    assert page.count("<strong>wrong</strong>") == 3
    assert page.count("near-tie</span>") == 1
    assert "Stop this run" not in page


def test_pairs_can_be_narrowed_and_paged(ruth: Client, study: Study, monkeypatch: Any) -> None:
    monkeypatch.setattr("scoring.lab.run_page.PAIRS_PER_PAGE", 5)
    run = finish(ask(study), right=9, near=2)

    def keys(query: str) -> list[str]:
        context = ruth.get(url("scoring_run", run.pk, query=query)).context
        return [pair.score.item.key for pair in context["pairs"]]

    assert len(keys("")) == 5
    assert len(keys("?page=3")) == 2
    assert keys("?show=wrong") == [f"memory-machine-{n}" for n in (2, 3, 4)]
    assert keys("?show=near") == ["memory-machine-3", "memory-machine-4"]
    assert ruth.get(url("scoring_run", run.pk, query="?show=other")).status_code == 404


def test_a_running_one_shows_its_progress_and_can_be_stopped(ruth: Client, study: Study) -> None:
    run = store(
        ask(study),
        [(10, 11)] * 3,
        status="running",
        worker="elsewhere:1:1.1:aaaa",
        heartbeat_at=timezone.now() - timedelta(seconds=5),
        scoring_seconds=30.0,
        scored_tokens=900,
    )
    page = shown(ruth, "scoring_run", run.pk)
    assert "3 of 12" in page
    assert re.search(r"last heartbeat [567] s ago", page)
    assert "about 2 minutes left" in page
    assert "Accuracy so far" in page
    assert f'data-live-url="{url("scoring_run_live", run.pk)}"' in page
    response = ruth.post(url("scoring_cancel", run.pk), follow=True)
    run.refresh_from_db()
    assert (run.status, run.cancel_requested) == ("running", True)
    assert f"Run {run.pk} stops" in response.content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"condition": "swapped", "seed": 7, "source": "human", "limit": 3, "batch_tokens": 500},
        {"prompt": "custom", "custom_prompt": "It's so: <choice abstract>"},
        {"model_args": {"pretrained": "a b/c", "dtype": "bfloat16"}},
        {"model_args": {"pretrained": "a/b", "overlong": "rolling", "batch_size": "4"}},
    ],
)
def test_the_command_that_is_shown_goes_on_with_this_very_run(
    ruth: Client, study: Study, fields: dict[str, Any]
) -> None:
    from scoring.management.scoring_command import asked_models, asked_prompts

    run = ask(study, **fields)
    ScoringRun.objects.update(status="failed", error="The server is gone.")
    run.refresh_from_db()
    page = shown(ruth, "scoring_run", run.pk)
    words = shlex.split(resume_command(run))
    assert "The server is gone." in page
    assert words[:3] == [".venv/bin/python", "manage.py", "score"]
    parser = load_command_class(get_commands()["score"], "score").create_parser("", "score")
    options = vars(parser.parse_args(words[3:]))
    (asked_model,), (prompt,) = asked_models(options), asked_prompts(options)
    asked = {name: options[name] for name in ("source", "seed", "limit", "batch_tokens")}
    draft = draft_run(
        study=Study.objects.get(slug=options["study"]),
        language_model=LanguageModel.objects.get(name=asked_model.name),
        backend=asked_model.kind,
        model_args=asked_model.args,
        condition=options["conditions"],
        prompt=prompt.kind,
        custom_prompt=prompt.text,
        **asked,
    )
    same = newest_same(draft)
    assert (same, options["resume"]) == (run, True)


def test_an_imported_run_shows_its_files_and_cannot_be_changed(ruth: Client, study: Study) -> None:
    run = published(study)
    page = shown(ruth, "scoring_run", run.pk)
    assert "Published perplexities" in page
    assert "model_results/gpt2/PPL.npy (8 x 2)" in page
    assert "ab" * 32 in page
    assert "<form" not in page.partition("<main")[2]
    assert "score --" not in page
    for name in ("scoring_cancel", "scoring_resume"):
        assert ruth.post(url(name, run.pk)).status_code == 404


def test_scores_are_downloaded_whole_and_harmless(ruth: Client, study: Study) -> None:
    run = store(ask(study), [(10.123456789012345, 11.0), (12.0, 11.0)])
    LanguageModel.objects.update(name="=HYPERLINK(1)")
    response = ruth.get(url("scoring_scores", run.pk))
    assert response["Content-Disposition"] == (
        f'attachment; filename="memory-run-{run.pk}-full.csv"'
    )
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [float(row["ppl_original"]) for row in rows] == [10.123456789012345, 12.0]
    assert [row["correct"] for row in rows] == ["true", "false"]
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)"}


# A run that another study asked for


def test_another_study_with_the_same_test_cases_sees_the_run_on_them_and_cannot_stop_it(
    ruth: Client, study: Study
) -> None:
    other = make_study("other", human=0, machine=2)
    for item in study.items.filter(kind="test", source="human").order_by("key")[:5]:
        other.study_items.create(item=item)
    run = finish(ask(other), right=7)
    for item in other.items.filter(source="machine"):
        study.items.remove(item)
    listed, page = shown(ruth, "scoring"), shown(ruth, "scoring_run", run.pk)
    assert f'id="run-{run.pk}"' in listed
    assert "5 <small>of 5</small>" in page
    assert "scored 2 more texts" in page
    assert "another study" in page
    rows = list(csv.DictReader(io.StringIO(shown(ruth, "scoring_scores", run.pk))))
    assert {row["item"] for row in rows} == {f"memory-human-{n}" for n in range(1, 6)}
    under_way = store(ask(other), [(10, 11)] * 3, status="waiting")
    page = shown(ruth, "scoring_run", under_way.pk)
    assert "cancel-run" not in page
    assert ruth.post(url("scoring_cancel", under_way.pk)).status_code == 404
    under_way.refresh_from_db()
    assert under_way.is_open


def test_a_run_of_a_deleted_study_stays_and_one_that_was_not_over_fails(study: Study) -> None:
    other = make_study("other", human=1, machine=0)
    over, waiting = finish(ask(other), right=1), ask(other)
    other.delete()
    over.refresh_from_db()
    assert over.item_scores.count() == 1
    waiting = execute(ScoringRun.objects.get(pk=waiting.pk), backend=NgramBackend())
    assert waiting.status == "failed"
    assert "is gone" in waiting.error
