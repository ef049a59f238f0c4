"""The lab's team page: whom it lets one tick, what it says of them, to whom; and its files."""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.lab.team_members import offered_models
from analysis.teams import services
from analysis.teams.options import PUBLISHED, TeamOptions
from experiment.models import Study
from scoring.models import ChoiceRun, LanguageModel
from scoring.services.choosing.summary import summarise
from tests.analysis.data.choosing import choose, refuses_a
from tests.analysis.data.scored import read, score
from tests.analysis.teams import made_teams
from tests.factories import make_item, make_participant
from tests.scoring.lab.rows import ask, finish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
ASKED = "?members=human&members=lab/0&members=lab/1"


@pytest.fixture
def members(study: Study) -> None:
    """Two people, and four models of which the last is the best."""
    for _ in range(2):
        make_participant(study)
    for n in range(4):
        finish(ask(study, f"lab/{n}"), right=4 + n)


@pytest.fixture
def tried(members: None, monkeypatch: Any) -> list[TeamOptions]:
    """Figures that are never drawn; the options that teams were asked for with."""
    asked: list[TeamOptions] = []
    make = services.make_teams

    def make_teams(study: Study, options: TeamOptions, progress: Any = None) -> Any:
        asked.append(options)
        return make(study, replace(options, resamples=50), progress)

    monkeypatch.setattr("analysis.teams.services.make_teams", make_teams)
    monkeypatch.setattr("analysis.teams.services.draw_teams", made_teams.figures)
    return asked


def url(name: str = "results_teams", *args: Any, query: str = "") -> str:
    return reverse(f"lab:{name}", args=["memory", *args]) + query


def shown(client: Client, query: str = "") -> str:
    response = client.get(url(query=query))
    assert response.status_code == 200
    return response.content.decode()


def ticked(page: str, name: str = "members") -> list[str]:
    return re.findall(rf'name="{name}" value="([^"]+)" checked', page)


def test_a_human_and_the_three_best_models_are_ticked_and_nothing_is_computed_for_a_glance(
    ruth: Client, tried: list[TeamOptions]
) -> None:
    page = shown(ruth)
    assert ticked(page) == ["human", "lab/1", "lab/2", "lab/3"]
    assert re.search(r"3</span> <small class=\"model-share\">87.5%", page)
    assert tried == []


@pytest.mark.parametrize("kind", ["real", "imported"])
def test_a_model_is_offered_by_the_run_that_counts_in_results(study: Study, kind: str) -> None:
    make_participant(study, kind=kind)
    score(study, backend="imported")
    score(study, "org/b")
    score(study, ppl=(3.0, 2.0), prompt="none")
    scores = read(study).full
    own = scores[scores["model"] == 0]
    offered = offered_models(study, ReportOptions(source="human"))["org/a"]
    assert (offered.n, offered.accuracy) == (len(own), own["points"].mean())
    assert offered.accuracy == 1.0


def test_the_members_of_the_published_teams_are_ticked_in_an_import_and_said_to_be_they(
    ruth: Client, study: Study, members: None
) -> None:
    study.items.add(make_item("brainbench-human-created-001", collection="brainbench"))
    for name, old in zip(PUBLISHED, ("lab/0", "lab/1", "lab/2"), strict=True):
        LanguageModel.objects.filter(name=old).update(name=name)
    page = shown(ruth)
    assert sorted(ticked(page)) == sorted(["human", *PUBLISHED])
    assert "a human and the three Llama-2 chat models of the published teams." in page


def test_nothing_ticked_is_no_team_and_one_member_learns_that_a_team_takes_two(
    ruth: Client, tried: list[TeamOptions]
) -> None:
    assert 'name="sent"' in shown(ruth)
    page = shown(ruth, "?sent=1&combined_by=majority")
    assert "The team has no members</h2>" in page
    assert (ticked(page), tried) == ([], [])
    page = shown(ruth, "?sent=1&members=lab/1")
    assert "A team needs two members" in page
    assert re.findall(r"<dt>([\w ]+)</dt>", page) == ["Right"]


def test_the_address_holds_the_whole_choice(ruth: Client, tried: list[TeamOptions]) -> None:
    query = "?source=machine&combined_by=majority&out_of=participant&trials=all&members=human-2&members=lab/2"
    page = shown(ruth, query)
    assert "notice-error" not in page
    (options,) = tried
    assert (options.source, options.method, options.out_of, options.trials) == (
        "machine", "majority", "participant", "all",
    )  # fmt: skip
    assert (options.members, options.all_subsets) == (("human", "lab/2"), True)
    assert ticked(page) == ["human", "lab/2"]
    assert [ticked(page, name) for name in ("source", "combined_by", "out_of", "trials")] == [
        ["machine"], ["majority"], ["participant"], ["all"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("source=alien", "Test cases: “alien” is not one of human, machine"),
        (
            "members=nobody/nothing",
            "“nobody/nothing” was left out: this study has no run of it",
        ),
        ("&".join(["members=human"] * 4), "at most 3 humans are possible"),
        ("out_of=participant&members=human&members=human-2", "exactly one human"),
        ("sauce=human", "There is no choice “sauce”"),
        ("method=majority", "There is no choice “method”"),  # how models took the test
    ],
)
def test_invalid_parts_of_an_address_are_named_and_left_out(
    ruth: Client, tried: list[TeamOptions], query: str, said: str
) -> None:
    assert said in shown(ruth, f"{ASKED}&{query}")
    answer = ruth.get(url("results_teams_json", query=f"{ASKED}&{query}"))
    assert answer.status_code == 400  # a file cannot carry the message
    assert said in answer.content.decode()


def knows_most(n: int, original: str, sample: int) -> dict[str, Any]:
    """Right in both orders on three of four test cases, and A in both, a tie, on the others."""
    return {"side": original if n % 4 else "A"}


def test_models_that_were_asked_are_offered_apart_with_the_accuracy_of_the_table_of_models(
    ruth: Client, study: Study, members: None
) -> None:
    run = choose(study, "lab/3", knows_most)
    choose(study, "org/chat")
    page = shown(ruth)
    assert summarise(run).accuracy == 0.875
    for name, share in (("lab/3", "87.5%"), ("lab/3 (asked)", "87.5%"), ("org/chat (asked)", "100.0%")):  # fmt: skip
        own = page.partition(f'value="{name}"')[2].partition("</label>")[0]
        assert f'"model-share">{share}<' in own
    # Each model once among the most accurate ones
    assert ticked(page) == ["human", "org/chat (asked)", "lab/2", "lab/3"]


def test_a_study_whose_models_were_only_asked_has_a_team_of_people_and_one_of_them(
    ruth: Client, study: Study
) -> None:
    make_participant(study)
    choose(study, "org/chat", knows_most)
    page = shown(ruth)
    assert ticked(page) == ["human", "org/chat (asked)"]
    assert "org/chat</span>" in page
    assert "(asked)</span>" not in page


def test_a_model_is_left_out_for_the_reason_that_is_so(
    ruth: Client, study: Study, members: None
) -> None:
    ask(study, "lab/waits")
    finish(ask(study, "lab/swapped", condition="swapped", seed=1), right=2)
    choose(study, "org/chat", status="failed")
    choose(study, "org/refuses", refuses_a)
    choose(study, "org/asked")
    for name, why in {
        "lab/waits": "none of its runs is finished; the newest is waiting",
        "lab/swapped": "it has not scored the full texts of these test cases",
        "lab/0 (asked)": "it was scored, not asked: “lab/0” is its name here",
        "org/asked": "it was asked, not scored: “org/asked (asked)” is its name here",
        "org/chat (asked)": "none of its runs is finished; the newest is failed",
        "org/refuses (asked)": "of none of these test cases can its answers in both orders be read",
    }.items():
        assert f"“{name}” was left out: {why}." in shown(ruth, urlencode_members(name))
    ChoiceRun.objects.exclude(language_model__name="org/asked").update(is_simulated=True)
    said = shown(ruth, urlencode_members("org/refuses (asked)"))
    assert "its runs are simulated, and other models were really asked" in said


def urlencode_members(*names: str) -> str:
    return f"?{urlencode({'members': names}, doseq=True)}"


def test_the_answer_is_a_sentence_a_figure_and_a_table_of_all_teams(
    ruth: Client, tried: list[TeamOptions]
) -> None:
    page = shown(ruth, ASKED)
    assert re.search(
        r"Adding one human to 0 \+ 1 changes accuracy by \+?[^ ]+ points( \[[^]]+\])? on these test cases",
        page,
    )
    assert 'alt="Alt of teams"' in page
    rows = re.findall(r'<th scope="row">([^<]+)</th>', page)
    assert rows[:7] == ["Human", "0", "1", "Human + 0", "Human + 1", "0 + 1", "Human + 0 + 1"]
    assert (
        "manage.py team memory --source human --members human lab/0 lab/1 --method logistic" in page
    )


def test_files_hold_what_the_page_showed_even_if_data_change_meanwhile(
    ruth: Client, study: Study, tried: list[TeamOptions]
) -> None:
    page = shown(ruth, ASKED)
    links = [
        x.replace("&amp;", "&") for x in re.findall(r'href="([^"]+/teams/[^"]+\?[^"]*)"', page)
    ]
    starts = {"teams.json": b"{", "predictions.csv": b"trial,participant,", "teams.svg": b"<svg",
              "teams.png": b"\x89PNG", "teams.pdf": b"%PDF", "figure_teams.csv": b"who,accuracy,participants\n"}  # fmt: skip
    before = {name: next(x for x in links if f"/{name}?" in x) for name in starts}
    make_participant(study)
    for name, start in starts.items():
        response = ruth.get(before[name])
        assert response.content.startswith(start), name
        assert f'filename="memory-team-{name}"' in response["Content-Disposition"]
    assert "'=1+1" in ruth.get(before["figure_teams.csv"]).content.decode()
    assert len(tried) == 1
    for name, args in (("results_teams_table", ["nothing"]), ("results_teams_figure", ["nothing", "svg"]),
                       ("results_teams_figure", ["teams", "exe"])):  # fmt: skip
        assert ruth.get(url(name, *args, query=ASKED)).status_code == 404


def test_an_empty_study_and_an_empty_team_say_what_they_take(ruth: Client, study: Study) -> None:
    page = shown(ruth, "?members=human")
    assert "No members to combine yet" in page
    assert "<form class" not in page
    finish(ask(study, "lab/0"), right=5)
    assert "Tick two or more members" in shown(ruth, "?members=")
    assert ticked(shown(ruth)) == ["lab/0"]  # no one judged, so no human


def test_without_trials_or_scores_here_the_page_leads_to_where_there_are_some(
    ruth: Client, study: Study
) -> None:
    make_participant(study, judged=0)
    make_participant(study, kind="simulated")
    page = shown(ruth, "?kind=real")
    assert "No members to combine yet" in page
    (link,) = re.findall(r'href="[^"]+(\?[^"]+)">Simulated participants', page)
    assert 'name="members" value="human"' in shown(ruth, link.replace("&amp;", "&"))


def test_a_study_of_questions_alone_has_nothing_to_combine(ruth: Client, study: Study) -> None:
    study.study_items.all().delete()
    of_kinds = {"human_items": 0, "machine_items": 0, "catch_items": 0, "question_items": 4}
    Study.objects.filter(pk=study.pk).update(**of_kinds)
    assert "No members to combine yet" in shown(ruth)
