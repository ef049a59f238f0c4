"""The documents that are written from a study's set-up."""

import pytest
from django.test import Client
from django.urls import reverse

from analysis.lab.documents.planned import Assumed, items_hash, precision
from experiment.models import Item, Study
from experiment.services.advisers import prepare_advice
from tests.experiment.asked import make_asking_study
from tests.factories import NOW, make_adviser, make_arms, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(
        human=12, machine=6, target_valid=137, title="Minds & | models", min_rt_ms=4_321
    )


@pytest.fixture
def ruth(client: Client, study: Study) -> Client:
    client.force_login(make_user("ruth", study))
    return client


def fetch(client: Client, name: str, form: str, query: str = "") -> bytes:
    response = client.get(reverse("lab:document", args=["memory", name, form]) + query)
    assert response.status_code == 200
    assert f"memory-{name}-" in response["Content-Disposition"]
    return response.content


def test_the_preregistration_says_what_is_set_up(ruth: Client, study: Study) -> None:
    text = fetch(ruth, "preregistration", "md").decode()
    for fact in (r"Minds & \| models", "| human | 6 | 12 | 12 |", "137 valid", "less than 4321 ms"):
        assert fact in text
    assert items_hash(study) in text
    assert "test cases were not reviewed: on this site, nobody other than their writers" in text
    assert "slider" in text.split("## Exclusion")[1].split("##")[0]
    assert "more than half of the answers" in text.split("## Exclusion")[1].split("##")[0]
    Study.objects.update(exclude_untouched="off")
    text = fetch(ruth, "preregistration", "md").decode()
    assert "slider" not in text.split("## Exclusion")[1].split("##")[0]


def test_both_documents_name_the_arms_of_a_study_that_has_any(ruth: Client, study: Study) -> None:
    for name in ("preregistration", "data-management"):
        assert "arm" not in fetch(ruth, name, "md").decode().replace("charm", "").split()
    make_arms(
        study,
        {"name": "A | B", "share": 3},
        {"advice": "after", "human_items": 2, "ratings_required": True},
    )
    text = fetch(ruth, "preregistration", "md").decode()
    assert r"| A \| B | 75% | no advice | 6 human, 3 machine, 2 catch | may be left out |" in text
    assert "| after the participant's own choice, which may then be revised |" in text
    assert "2 human, 3 machine, 2 catch | required |" in text
    assert "within groups" not in text
    Study.objects.update(cell_field="gender", cell_targets={"other": 7})
    text = fetch(ruth, "preregistration", "md").decode()
    assert "same answer about: gender identity" in text
    assert "“other” are no longer admitted once 7" in text
    assert (
        "Each target number of valid participants is divided among the arms by their shares."
        in text
    )
    assert "the arm that the participant" in fetch(ruth, "data-management", "md").decode()


def test_the_planned_analyses_are_those_of_the_arms(ruth: Client, study: Study) -> None:
    def planned() -> str:
        text = fetch(ruth, "preregistration", "md").decode()
        assert "\n\n- [further" not in text
        return text.split("## Planned analyses")[1]

    assert "arm" not in planned().split()
    make_arms(study, {"name": "a"}, {"name": "b"})
    assert "compared between arms" in planned()
    assert "advice" not in planned()
    study.arms.filter(name="b").update(advice="after")
    text = planned()
    assert "compared between arms" not in text
    for part in ("minus that of answers without advice", "Change after advice", "self-reliance"):
        assert part in text
    study.arms.update(advice="before")
    text = planned()
    assert "minus that in the first arm" in text
    assert "Change after advice" not in text


@pytest.fixture
def asking(client: Client) -> Study:
    study = make_asking_study("memory", counts=(0, 0, 0), asked=3)
    client.force_login(make_user("vera", study))
    return study


def test_the_preregistration_of_questions_alone_speaks_of_nothing_else(
    client: Client, asking: Study
) -> None:
    text = fetch(client, "preregistration", "md").decode()
    assert "| question | 3 | 4 | 4 |" in text
    for word in ("abstract", "practice", "perplexity", "catch trials", "slider", "ms until"):
        assert word not in text.replace("an abstract of an article", "")
    Study.objects.update(question_min_rt_ms=2_345)
    text = fetch(client, "preregistration", "md").decode()
    assert "less than 2345 ms until Continue was pressed" in text


def test_data_management_says_who_reads_what_is_written(client: Client, asking: Study) -> None:
    text = fetch(client, "data-management", "md").decode()
    assert "not sent to any other server" in text
    Study.objects.update(answers_read_by="Grader 9 of Example | Inc.")
    text = fetch(client, "data-management", "md").decode()
    assert r"to a language model on another server: Grader 9 of Example \| Inc." in text
    assert "not sent to any other server" not in text


def test_the_hash_names_the_test_cases_that_can_be_drawn(study: Study) -> None:
    before = items_hash(study)
    assert items_hash(study) == before
    study.items.filter(key="memory-human-1").update(status=Item.Status.RETIRED)
    assert items_hash(study) != before


def test_more_participants_and_less_variation_narrow_the_interval(study: Study) -> None:
    rows = precision(study, Assumed(63, 0.5, 0.5), 18)
    widths = [row.points for row in rows]
    assert widths == sorted(widths, reverse=True)
    assert [row.n_participants for row in rows if row.is_target] == [137]
    # Nothing varies but the answers themselves: 2 t sqrt(p (1 - p) / trials), t = 2.110 of 18 test cases
    plain = precision(study, Assumed(63, 0, 0), 18)
    assert plain[0].points == pytest.approx(421.96 * (0.63 * 0.37 / (25 * 9)) ** 0.5, abs=0.01)
    assert precision(study, Assumed(63, 0.5, 0.5), 0) == []


def test_the_data_sheet_says_what_a_withdrawal_leaves_and_until_when(
    ruth: Client, study: Study
) -> None:
    text = fetch(ruth, "data-management", "md").decode()
    assert "[date]" in text
    assert "answers are then erased" in text
    Study.objects.update(withdrawal_policy="anonymise", retain_until="2036-03-31")
    text = fetch(ruth, "data-management", "md").decode()
    assert "[date]" not in text
    assert "| 31 March 2036 |" in text
    assert "answers are then erased" not in text


def test_assumptions_that_cannot_be_are_refused(ruth: Client) -> None:
    page = ruth.get(reverse("lab:documents", args=["memory"]) + "?accuracy_percent=40")
    assert page.context["form"].errors.keys() == {"accuracy_percent"}
    url = reverse("lab:document", args=["memory", "preregistration", "md"])
    assert ruth.get(url + "?sd_items=x").status_code == 404
    assert ruth.get(url.replace(".md", ".doc")).status_code == 404


def test_both_documents_describe_advice_where_an_arm_has_any(ruth: Client, study: Study) -> None:
    make_arms(study, {"advice": "none"})
    for name in ("preregistration", "data-management"):
        assert "## Advice" not in fetch(ruth, name, "md").decode()
    study.arms.update(advice="after")
    assert "[adviser]" in fetch(ruth, "preregistration", "md").decode()
    adviser = make_adviser(study, kind="planted", source="", planted_accuracy=0.7, is_frozen=False)
    text = fetch(ruth, "preregistration", "md").decode()
    assert "made up, correct on 70% of the test cases" in text
    assert "frozen when the study opens" in text
    prepare_advice(study).freeze(study, NOW)
    adviser.refresh_from_db()
    assert "frozen when the study opens" in fetch(ruth, "preregistration", "md").decode()
    Study.objects.update(version=1)
    text = fetch(ruth, "preregistration", "md").decode()
    assert adviser.version["sha256"] in text
    assert "correct on 72.2% of the test cases" in text
    assert "advice that was shown" in fetch(ruth, "data-management", "md").decode()
    assert fetch(ruth, "preregistration", "pdf").startswith(b"%PDF")
