"""Things that are missing before a study opens, or worth knowing, and texts that contradict the settings."""

import pytest

from experiment.domain.text_checks import Facts, disagreements
from experiment.services.readiness import preflight
from experiment.services.study_setup import set_recruitment, word_consent
from experiment.services.study_versions import revise
from tests.factories import make_item, make_study

FACTS = Facts(11, frozenset({6, 3, 2, 9, 12}), (15, 30), "neuroscience", 90)


@pytest.mark.django_db
def test_a_new_study_of_the_preset_says_nothing_that_does_not_hold() -> None:
    study = make_study(ethics_number="7", ethics_body="Board")
    assert preflight(study) == []


@pytest.mark.django_db
def test_notices_keep_no_study_from_opening() -> None:
    study = make_study(briefing="You judge 40 abstracts of ecology in 90 minutes.", language="fi")
    word_consent(study, "All is deleted after 30 days.")
    found = preflight(study)
    assert not any(problem.is_blocking for problem in found)
    untranslated = next(str(problem) for problem in found if problem.section == "wording")
    assert "of the participants' pages are in English only" in untranslated
    assert {str(problem) for problem in found} == {
        "the consent page does not name an ethics approval",
        untranslated,
        "the briefing says “40 abstracts”, but a participant judges 11 in total",
        "the briefing says “90 minutes”, but the pages say 15 to 30 minutes",
        "the briefing says “ecology”, but the study's field is neuroscience",
        "the consent says “30 days”, but recruitment IDs are kept for 90 days",
    }
    assert set_recruitment(study, "open").recruitment == "open"


@pytest.mark.django_db
def test_a_study_does_not_open_with_a_test_case_whose_versions_look_the_same() -> None:
    study = make_study()
    item = make_item("alike", markup="It was [[3\u20135, 3-5]] days.")  # as of before the check
    revise(study, items=[*study.items.all(), item])
    (problem,) = [each for each in preflight(study) if each.is_blocking]
    assert problem.section == "items"
    assert str(problem) == (
        f"the two versions of 1 test case look the same, so nobody could choose between them: {item}"
    )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("You judge nine abstracts, one abstract at a time.", []),
        ("You judge 12 short abstracts.", []),
        ("You judge ten abstracts.", ["trials"]),
        ("It takes 20 to 25 minutes.", []),
        ("It takes about 30 minutes.", []),
        ("It takes 5-10 minutes.", ["minutes"]),
        ("It takes an hour: 60 minutes.", ["minutes"]),
        ("Findings of neuroscience and psychology.", []),
        ("Findings of psychology.", ["field"]),
        ("Ids are erased after 90 days.", []),
        ("Ids are erased after ninety or 91 days.", ["days"]),
        ("You may come back for 7 days.", []),
        ("Everything is deleted on 31 December 2030.", ["date"]),
        ("Everything is deleted on 31 June 2030.", ["date"]),
        ("We began on 1 May 2026. Nothing is deleted.", []),
    ],
)
def test_phrases_that_do_not_hold_are_found(text: str, kinds: list[str]) -> None:
    assert [each.kind for each in disagreements(text, FACTS)] == kinds
