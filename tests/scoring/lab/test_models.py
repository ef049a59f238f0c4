"""The lab's page about a study's models: what is shown, and to whom."""

import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client

from experiment.models import Study
from scoring.models import LanguageModel, ModelSet, ScoringRun, UnscoredText
from scoring.services.summary import summarise_run
from tests.factories import make_study
from tests.scoring.lab.rows import ask, finish, published, shown, url

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("1")</script>{{ 7|add:7 }}'


def pictured(client: Client, query: str = "") -> list[tuple[str, list[str]]]:
    """Names of the sets in the picture, and what each row of them shows."""
    groups = client.get(url("scoring", query=query)).context["groups"]
    notes = {
        id(row): render_to_string("scoring/_differences.html", {"row": row})
        for group in groups
        for row in group.rows
    }
    return [
        (group.set_name, [f"{row.model} {notes[id(row)]}".strip() for row in group.rows])
        for group in groups
    ]


# A study's models


def test_nothing_scored_yet_offers_the_demonstration_model_by_a_button(ruth: Client) -> None:
    page = shown(ruth, "scoring")
    assert "No model has been scored on this study's test cases yet" in page
    assert "manage.py" not in page
    asked = dict(re.findall(r'type="hidden" name="(model|prompt|conditions)" value="(\w+)"', page))
    ruth.post(url("scoring_queue"), asked)
    assert ScoringRun.objects.get().backend == "embedded"


def test_accuracy_and_standard_error_are_those_of_the_summary(ruth: Client, study: Study) -> None:
    run = finish(ask(study), right=9, near=2)
    figures = summarise_run(run)
    accuracy = figures.counted.accuracy
    assert (accuracy.n, accuracy.value, figures.counted.near_ties) == (12, 0.75, 2)
    (row,) = ruth.get(url("scoring")).context["shown"]
    assert (row.n, row.accuracy_percent) == (12, 75)
    assert row.sem_percent == pytest.approx(100 * accuracy.sem)
    assert row.counted.near_ties == 2
    page = shown(ruth, "scoring")
    assert "75.0%" in page
    assert "± 12.5" in page


def test_the_studys_set_comes_first_in_its_order_and_others_below(
    ruth: Client, study: Study
) -> None:
    for name in ("gpt2", "tiiuae/falcon-40b", "facebook/galactica-30b"):
        published(study, name)
    chosen = ModelSet.objects.create(study=study, name="the paper's models")
    for place, name in enumerate(("tiiuae/falcon-40b", "facebook/galactica-30b")):
        model = LanguageModel.objects.get(name=name)
        chosen.members.create(language_model=model, position=place)
    assert pictured(ruth) == [
        ("the paper's models", ["Falcon-40B", "Galactica-30B"]),
        ("", ["GPT-2-124M"]),
    ]


def test_of_the_same_settings_the_newest_run_is_drawn_and_others_say_what_is_theirs(
    ruth: Client, study: Study
) -> None:
    finish(ask(study), right=1)
    newest = finish(ask(study), right=12)
    finish(ask(study, prompt="clean"), right=6)
    finish(ask(study, prompt="clean", limit=3), right=2)
    ((_, rows),) = pictured(ruth)
    assert rows == ["tiny prompt clean, first 3", "tiny prompt clean", "tiny prompt paper"]
    (group,) = ruth.get(url("scoring")).context["groups"]
    assert [row.run for row in group.rows][-1] == newest


def test_the_source_in_the_address_narrows_what_is_counted(ruth: Client, study: Study) -> None:
    both = finish(ask(study), right=8)  # the human-created ones come first
    human = published(study)
    machine = finish(ask(study, "lab/other", source="machine"), right=1)

    def n(query: str) -> dict[ScoringRun, tuple[int, float]]:
        rows = ruth.get(url("scoring", query=query)).context["shown"]
        return {row.run: (row.n, row.accuracy_percent) for row in rows}

    assert n("?source=human") == {both: (8, 100), human: (8, 62.5)}
    assert n("?source=machine") == {both: (4, 0), machine: (4, 25)}
    assert n("").keys() == {both, human, machine}
    page = shown(ruth, "scoring", query="?source=human")
    assert 'href="?condition=full&amp;source=human" aria-current="page"' in page
    assert 'href="?condition=isolated&amp;source=human"' in page


def test_the_number_of_queries_does_not_grow_with_models(
    ruth: Client, study: Study, django_assert_num_queries: Any
) -> None:
    published(study, "model-0")
    # session, user, study, rights; set, its name, counts, runs, conditions, open runs, workers
    with django_assert_num_queries(11):
        ruth.get(url("scoring"))
    for n in range(1, 15):
        published(study, f"model-{n}")
        published(study, f"model-{n}", condition="swapped")
    with django_assert_num_queries(11):
        ruth.get(url("scoring"))
    with django_assert_num_queries(11):
        ruth.get(url("scoring_live"))


# Who may see what


def test_a_run_is_found_under_its_own_study_only(ruth: Client, study: Study) -> None:
    theirs = ask(make_study("theirs"))
    for name in ("scoring_run", "scoring_run_live", "scoring_scores"):
        assert ruth.get(url(name, theirs.pk)).status_code == 404
    for name in ("scoring_cancel", "scoring_resume"):
        assert ruth.post(url(name, theirs.pk)).status_code == 404


# Hostile words


def test_names_and_errors_are_shown_as_text(ruth: Client, study: Study) -> None:
    run = finish(ask(study), right=3, status="failed", error=HOSTILE, identity={HOSTILE: HOSTILE})
    LanguageModel.objects.update(name=HOSTILE, display_name=HOSTILE)
    UnscoredText.objects.create(run=run, name=HOSTILE, reason=HOSTILE, unit=1)
    ScoringRun.objects.update(prompt="custom", prompt_text=HOSTILE, model_args={"x": HOSTILE})
    finish(ask(study, "lab/second"), right=2)
    LanguageModel.objects.update(display_name=HOSTILE)
    live = shown(ruth, "scoring_live") + shown(ruth, "scoring_run_live", run.pk)
    for page in (shown(ruth, "scoring"), shown(ruth, "scoring_run", run.pk), live):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;{{ 7|add:7 }}" in page
