"""Two studies, or two versions of one's rules, side by side."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analysis.lab.compare_words import Words
from analysis.models import Computation
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.services import compare as comparing
from analysis.stats.two_groups import Sample, TwoSamples, two_samples
from analysis.stats.verdicts import Verdict
from experiment.models import Membership, Study
from experiment.services.study_setup import pin_items
from experiment.services.study_versions import freeze, revise
from lib.formatting import NO_BREAK
from tests.analysis import results_stub as stub
from tests.factories import make_participant, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]


@pytest.fixture
def other(ruth: Client) -> Study:
    study = make_study("other", title="The other one")
    study.members.add(Membership.objects.get().user)
    return study


def shown(client: Client, query: str, status: int = 200) -> str:
    response = client.get(reverse("lab:compare", args=["memory"]) + query)
    assert response.status_code == status
    return response.content.decode()


def test_two_studies_stand_side_by_side_with_difference_interval_and_shared_test_cases(
    ruth: Client, study: Study, other: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures)
    pin_items(other, list(study.items.filter(source="human", kind="test")))
    for n in range(6):
        make_participant(study, judgment={"correct": n % 3 > 0})
        make_participant(other, judgment={"correct": n % 2 > 0})
    assert "about to begin" in shown(ruth, "?other=other")
    live = reverse("lab:compare_live", args=["memory"]) + "?other=other"
    assert ruth.get(live)["Location"] == reverse("lab:compare", args=["memory"]) + "?other=other"
    page = shown(ruth, "?other=other")
    assert "66.7%" in page
    assert "50.0%" in page
    assert "<strong>\N{MINUS SIGN}16.7</strong> points" in page
    assert "treating the two sides as independent" in page
    assert "test cases were judged on both sides" in page


@pytest.mark.sweep  # two reports
def test_two_versions_of_the_rules_have_a_difference_and_no_test(
    ruth: Client, study: Study
) -> None:
    study.exclude_missed_catch = False  # it would leave out who was wrong everywhere
    study.save()
    for _ in range(4):
        make_participant(study)
    make_participant(study, judgment={"rt_ms": 8_000, "correct": False})
    freeze(study, timezone.now())
    revise(study, rules=replace(study.exclusion_rules, min_rt_ms=10_000), reason="slower")
    page = shown(ruth, "?before=1&after=2&now=1")
    assert "<code>min_rt_ms</code></th><td>5000</td><td>10000</td>" in page
    assert "80.0%" in page
    assert "100.0%" in page
    assert "Trials: too fast" in page
    assert "is not tested" in page
    assert "sides as independent" not in page


def test_while_workers_compute_both_sides_the_page_says_how_far_each_is(
    ruth: Client, study: Study, other: Study, settings: Any
) -> None:
    settings.JOB_EXECUTOR = "celery"
    for one in (study, other):
        make_participant(one)
    live = reverse("lab:compare_live", args=["memory"]) + "?other=other"
    assert ruth.get(live).content.decode().count("about to begin") == 2
    assert ruth.get(live).content.decode().count("waiting for its turn") == 2
    rows = Computation.objects.order_by("pk")
    rows.filter(study=study).update(status="running", done=3, total=40)
    rows.filter(study=other).update(status="failed", error="The disk is full.")
    page = ruth.get(live).content.decode()
    assert "3 of 40 results" in page
    assert "The disk is full." in page
    assert "data-live-over" not in page
    rows.update(status="failed", error="The disk is full.")
    assert "data-live-over" in ruth.get(live).content.decode()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?other=secret", "Select a valid choice"),
        ("?before=1&after=1", "two different versions"),
        ("?before=9&after=1", "Select a valid choice"),
        ("?other=other&before=1&after=2", "Choose either"),
        ("?other=other&source=alien", "Select a valid choice"),
    ],
)
def test_an_impossible_comparison_is_refused_with_the_reason(
    ruth: Client, study: Study, other: Study, query: str, said: str
) -> None:
    make_study("secret", title="Nobody may know")
    freeze(study, timezone.now())
    revise(study, rules=replace(study.exclusion_rules, min_rt_ms=1), reason="try")
    page = shown(ruth, query, 400)
    assert said in page
    assert "Nobody may know" not in page


def test_a_curator_elsewhere_does_not_see_that_studys_data_here(
    ruth: Client, study: Study, other: Study
) -> None:
    assert '<option value="other">The other one</option>' in shown(ruth, "")
    Membership.objects.filter(study=other).update(role="curator")
    assert "There is nothing to compare with" in shown(ruth, "")
    shown(ruth, "?other=other", 400)


class Stored:
    """A report that is there, with one file at most."""

    def __init__(self, own: Any, table: bytes = b"") -> None:
        self.report = stub.report(None, stub.ReportOptions(source="human"), own)
        self.result, self.table = self, table

    def has_table(self, *_: str) -> bool:
        return bool(self.table)

    def table_file(self, _: str) -> bytes:
        return self.table


@pytest.fixture
def sides() -> tuple[comparing.Side, comparing.Side]:
    first = stub.source()
    own = first.of(Accuracy)
    renamed = replace(own.models[0], name="only/here", display_name="Only here")
    second = stub.with_results(first, replace(own, models=(renamed, *own.models[1:])))
    made = (comparing.side(name, Stored(s), "human") for name, s in (("A", first), ("B", second)))  # type: ignore[arg-type]
    return tuple(made)  # type: ignore[misc]


def test_test_cases_keep_their_names_whatever_these_look_like() -> None:
    names = ["NA", "null", "007", "7", "1e5"]
    table = "item,n_trials,accuracy\n" + "".join(f"{name},2,0.5\n" for name in names)
    side = comparing.side("A", Stored(stub.source(), table.encode()), "human")  # type: ignore[arg-type]
    assert list(side.by_item) == names


def test_models_of_one_side_only_have_no_difference(
    sides: tuple[comparing.Side, comparing.Side],
) -> None:
    found = comparing.compare(*sides, same_people=False)
    differences = {row.label: row.difference for row in found.models}
    assert differences["Only here"] is None
    assert 0.0 in differences.values()
    assert found.difference == 0
    assert found.apart is not None
    assert found.apart.p == 1
    assert comparing.compare(*sides, same_people=True).apart is None


@pytest.mark.parametrize(
    ("difference", "p", "n_people", "verdict", "words"),
    [
        (0.1, 0.01, 40, Verdict.ABOVE, "People on the second side are more accurate."),
        (-0.1, 0.01, 40, Verdict.BELOW, "People on the second side are less accurate."),
        (0.1, 0.2, 40, Verdict.UNCLEAR, "do not differ clearly."),
        (0.1, 0.01, 7, Verdict.TOO_FEW, "too few participants or test cases"),
    ],
)
def test_a_comparison_has_one_verdict_by_the_pairs_where_there_are_any(
    sides: tuple[comparing.Side, comparing.Side],
    difference: float,
    p: float,
    n_people: int,
    verdict: Verdict,
    words: str,
) -> None:
    first, second = (replace(one, n_participants=n_people, sample=None) for one in sides)
    found = comparing.compare(first, second, same_people=False)
    tested = TwoSamples(difference, 0.02, (0.0, 0.2), p, 20.0)
    other = replace(tested, difference=-difference, p=0.5)
    paired = replace(found, apart=other, on_shared=tested, n_shared_items=30)
    assert paired.verdict is verdict
    assert replace(found, apart=tested, on_shared=None).verdict is verdict
    assert replace(found, apart=None, on_shared=None).verdict is None
    text = Words(paired, is_one_study=False).conclusion
    assert words in text
    assert "judged on both sides" in text


@pytest.mark.parametrize(
    ("same_people", "is_one_study", "words"),
    [
        (True, True, "Both versions contain mostly the same trials of the same people"),
        (True, False, "Both sides contain imported participants, who may be the same people"),
        (False, False, "There are too few people or test cases for an interval."),
    ],
)
def test_a_difference_without_a_test_says_why(
    sides: tuple[comparing.Side, comparing.Side],
    *,
    same_people: bool,
    is_one_study: bool,
    words: str,
) -> None:
    found = replace(comparing.compare(*sides, same_people=same_people), apart=None)
    assert Words(found, is_one_study).tested.startswith(words)
    tested = replace(found, apart=TwoSamples(0.1, 0.05, (0.0, 0.2), 0.04, 20.0))
    said = Words(tested, is_one_study).tested.replace(NO_BREAK, " ")
    assert said == "95% CI 0.0 to +20.0, p = .040, treating the two sides as independent."
    assert Words(replace(found, difference=None), is_one_study).difference == ""


def test_shared_test_cases_are_counted_for_two_studies_alone(
    sides: tuple[comparing.Side, comparing.Side],
) -> None:
    found = comparing.compare(*sides, same_people=False)
    none = replace(found, n_shared_items=0, on_shared=None)
    assert Words(none, is_one_study=True).shared_items == ""
    assert Words(none, is_one_study=False).shared_items.startswith(
        "No test case was judged on both"
    )
    one = replace(found, n_shared_items=1, on_shared=None)
    said = Words(one, is_one_study=False).shared_items
    assert said.startswith(
        "1 test case was judged on both sides. If a test case that is hard on one"
    )
    assert "Paired by test case" not in said
    paired = replace(
        one, n_shared_items=30, on_shared=TwoSamples(0.1, 0.05, (0.0, 0.2), 0.04, 20.0)
    )
    said = Words(paired, is_one_study=False).shared_items.replace(NO_BREAK, " ")
    assert said.startswith("30 test cases were judged on both sides.")
    assert said.endswith("these test cases only: +10.0 points, 95% CI 0.0 to +20.0, p = .040.")


def test_a_difference_of_two_samples_is_welchs() -> None:
    from scipy import stats

    found = two_samples(Sample(0.5, 0.03, 12), Sample(0.62, 0.05, 30))
    scale = [0.03 * 12**0.5, 0.05 * 30**0.5]
    expected = stats.ttest_ind_from_stats(0.62, scale[1], 30, 0.5, scale[0], 12, equal_var=False)
    assert found is not None
    assert found.p == pytest.approx(expected.pvalue)
    assert two_samples(Sample(0.5, 0.0, 9), Sample(0.5, 0.0, 9)) is None
    assert two_samples(Sample(0.5, float("nan"), 9), Sample(0.5, 0.1, 9)) is None
