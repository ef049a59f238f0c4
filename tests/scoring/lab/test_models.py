"""The lab's pages about a study's models: what is shown, to whom, what is queued, and a run."""

import csv
import io
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from experiment.models import Study
from lib.jobs.models import LivingWorker
from scoring.lab.run_page import resume_command
from scoring.models import LanguageModel, ModelSet, ScoringRun, UnscoredText
from scoring.services.runs import draft_run, newest_same
from tests.factories import make_study
from tests.scoring.lab.rows import ask, finish, form, published, shown, store, url

pytestmark = pytest.mark.django_db
HOSTILE = '<script>alert("1")</script>{{ 7|add:7 }}'


def pictured(client: Client, query: str = "") -> list[tuple[str, list[str]]]:
    """Names of the sets in the picture, and what each row of them shows."""
    groups = client.get(url("scoring", query=query)).context["groups"]
    return [
        (group.set_name, [f"{row.model} {', '.join(row.differs)}".strip() for row in group.rows])
        for group in groups
    ]


def test_nothing_scored_yet_offers_the_demonstration_model_by_a_button(ruth: Client) -> None:
    page = shown(ruth, "scoring")
    assert "No model has been scored on this study's test cases yet" in page
    assert "manage.py" not in page
    asked = dict(
        re.findall(r'type="hidden"\s+name="(model|prompt|conditions)"\s+value="(\w+)"', page)
    )
    ruth.post(url("scoring_queue"), asked)
    assert ScoringRun.objects.get().backend == "embedded"


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


def test_the_newest_run_of_the_same_settings_is_drawn_and_labelled(
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
        return {row.run: (row.n, 100 * row.counted.accuracy.value) for row in rows}

    assert n("?source=human") == {both: (8, 100), human: (8, 62.5)}
    assert n("?source=machine") == {both: (4, 0), machine: (4, 25)}
    assert n("").keys() == {both, human, machine}
    page = shown(ruth, "scoring", query="?source=human")
    current = r'href="\?condition=full&amp;source=human"\s+aria-current="page"'
    assert re.search(current, page)
    assert 'href="?condition=isolated&amp;source=human"' in page


def test_the_number_of_queries_does_not_grow_with_models(
    ruth: Client,
    study: Study,
    django_assert_num_queries: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scoring.templatetags.waiting.KEPT_S", None)
    published(study, "model-0")
    ruth.get(url("scoring"))  # the menu's number is kept, here for as long as the test takes
    # session, user, study, rights; set, its name, counts, runs, conditions, open runs, workers,
    # whether they may ask models, servers
    with django_assert_num_queries(16):
        ruth.get(url("scoring"))
    for n in range(1, 15):
        published(study, f"model-{n}")
        published(study, f"model-{n}", condition="swapped")
    with django_assert_num_queries(16):
        ruth.get(url("scoring"))
    with django_assert_num_queries(11):
        ruth.get(url("scoring_live"))


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


@pytest.mark.parametrize("right", [0, 12])
def test_where_all_decisions_agree_no_error_is_shown(
    ruth: Client, study: Study, right: int
) -> None:
    run = finish(ask(study), right)
    for page in (shown(ruth, "scoring"), shown(ruth, "scoring_run", run.pk)):
        assert f"{100 * right // 12}.0%" in page
        assert "± 0" not in page


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
    page = " ".join(shown(ruth, "scoring_run", run.pk).split())
    for text in (
        "75.0% <small>± 12.5</small>",
        "9 <small>of 12</small>",
        "<dd> 50% </dd>",
        "2,500",
        "<code>" + "0123" * 16 + "</code>",
        "Faster strategies refused",
        '<span class="fact-name">packed</span> off by 0.2',
        "2.13.0",
        " ".join(run.prompt_text.replace("<", "&lt;").replace(">", "&gt;").split()),
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
        return [score.item.key for score in context["pairs"]]

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
        {"condition": "swapped", "seed": 7, "source": "human", "limit": 3, "batch_tokens": 500},
        {"prompt": "custom", "custom_prompt": "It's so: <choice abstract>"},
    ],
)
def test_the_command_that_is_shown_goes_on_with_this_very_run(
    ruth: Client, study: Study, fields: dict[str, Any]
) -> None:
    from scoring.management.asked_models import asked_models, asked_prompts

    run = ask(study, **fields)
    ScoringRun.objects.update(status="failed", error="The server is gone.")
    run.refresh_from_db()
    page = shown(ruth, "scoring_run", run.pk)
    words = shlex.split(resume_command(run))
    assert "The server is gone." in page
    assert words[:3] == [".venv/bin/python", "manage.py", "score"]
    parser = load_command_class(get_commands()["score"], "score").create_parser("", "score")
    options = vars(parser.parse_args(words[3:]))
    (asked_model,), (prompt,) = asked_models(options), asked_prompts(options, "paper")
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
    run = store(ask(study), [(10.123456789012345, 11.0), (12.0, 11.0), (11.0, 11.0)])
    LanguageModel.objects.update(name="=HYPERLINK(1)")
    response = ruth.get(url("scoring_scores", run.pk))
    assert response["Content-Disposition"] == (
        f'attachment; filename="memory-run-{run.pk}-full.csv"'
    )
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert [float(row["ppl_original"]) for row in rows] == [10.123456789012345, 12.0, 11.0]
    assert [row["correct"] for row in rows] == ["1.0", "0.0", "0.5"]
    assert {row["model"] for row in rows} == {"'=HYPERLINK(1)"}


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
    assert "more text" not in page  # how many test cases the other study has is not theirs to know
    assert "another study" in page
    rows = list(csv.DictReader(io.StringIO(shown(ruth, "scoring_scores", run.pk))))
    assert {row["item"] for row in rows} == {f"memory-human-{n}" for n in range(1, 6)}
    under_way = store(ask(other), [(10, 11)] * 3, status="waiting")
    page = shown(ruth, "scoring_run", under_way.pk)
    assert "cancel-run" not in page
    assert ruth.post(url("scoring_cancel", under_way.pk)).status_code == 404
    under_way.refresh_from_db()
    assert under_way.is_open


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


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"model_args": ""}, "its name on Hugging Face (pretrained=NAME)"),
        (
            {"model": "completions", "model_args": "base_url=http://u:secret@localhost,model=m,tokenizer=t"},
            "base_url contains a user name or password",
        ),
        ({"conditions": ["shuffled"]}, "shuffled is not one of the available choices"),
    ],
)  # fmt: skip
def test_impossible_scoring_is_refused_with_a_sentence(
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
    assert 'value="lab/tiny"' in shown(ruth, "scoring")
    ruth.post(url("scoring_queue"), form(model_args="pretrained=lab/tiny"))
    path = str(tmp_path / "models" / "lab" / "tiny")
    assert ScoringRun.objects.get().model_args == {"pretrained": path}
    for outside in ("../elsewhere", f"{tmp_path}/elsewhere", "/etc", ".", "scoring/demo_lm"):
        for args in (f"pretrained={outside}", f"pretrained=lab/tiny,peft={outside}"):
            answer = ruth.post(url("scoring_queue"), form(model_args=args))
            assert (answer.status_code, ScoringRun.objects.count()) == (422, 1), args
