"""A study's menu: what each role is offered, of what the study has."""

import pytest
from django.test import Client

from experiment.domain.roles import RIGHTS, Role
from experiment.lab.menus import site_menu, study_menu
from experiment.models import Study
from experiment.services.study_setup import pin_items
from tests.factories import make_question, make_study

pytestmark = pytest.mark.django_db

SETTINGS = ["Settings", "Test cases", "Recruitment", "Pay participants", "Dry run", "Documents", "Members", "Privacy"]  # fmt: skip
RESULTS = ["Report", "Teams", "Traces", "Compare"]


def menu(study: Study, role: Role, part: str = "people") -> dict[str, list[str]]:
    entries = study_menu(study, RIGHTS[role], part)
    return {str(entry.label): [str(link.label) for link in entry.sections] for entry in entries}


@pytest.mark.parametrize(
    ("section", "is_admin", "pages", "current"),
    [
        ("studies", False, ["Studies", "Test cases"], ["Studies"]),
        ("training", False, ["Studies", "Test cases", "Training"], ["Training"]),
        ("help", True, ["Studies", "Test cases", "Training"], []),
        ("", False, ["Studies", "Test cases"], []),
    ],
)
def test_the_menu_of_every_page_shows_administrators_more(
    section: str, is_admin: bool, pages: list[str], current: list[str]
) -> None:
    menu = site_menu(section, is_admin=is_admin)
    assert [link.label for link in menu.pages] == pages
    assert [link.label for link in menu.pages if link.is_current] == current
    assert menu.is_account == (section == "help")
    assert ("Audit trail" in {link.label for link in menu.account}) == is_admin


def test_a_researcher_has_six_entries() -> None:
    assert menu(make_study(), Role.RESEARCHER) == {
        "Overview": [],
        "Set up": SETTINGS,
        "Models": ["Scores", "Choices"],
        "Results": RESULTS,
        "Export": [],
        "More": ["Work", "Trail"],
    }


def test_the_menu_names_only_what_the_study_has() -> None:
    study = make_study()
    pin_items(study, [*study.items.all(), make_question()])  # for models alone
    assert menu(study, Role.RESEARCHER)["Models"] == ["Scores", "Choices", "Answers", "Grades"]
    none = {"human_items": 0, "machine_items": 0, "catch_items": 0}
    asking = make_study("asking", question_items=2, human=0, machine=0, catch=0, **none)
    found = menu(asking, Role.RESEARCHER)
    assert found["Models"] == ["Answers", "Grades"]
    assert found["Results"] == []  # the report alone
    # The page that somebody is on is never left out
    assert menu(asking, Role.RESEARCHER, "teams")["Results"] == ["Report", "Teams"]


def test_an_entry_with_one_section_goes_by_its_name() -> None:
    study = make_study(question_items=2)
    assert menu(study, Role.CURATOR) == {"Test cases": [], "Grades": []}
    found = menu(study, Role.AUDITOR)
    pages = ["Test cases", "Recruitment", "Pay participants", "Dry run", "Documents"]
    assert found["Set up"] == pages
    assert (found["Trail"], "More" in found) == ([], False)


@pytest.mark.parametrize(
    ("page", "current"),
    [("", ["page"]), ("documents/", ["true", "page"]), ("trail/", ["true", "page"])],
)
def test_a_page_says_where_in_the_menu_it_is(
    ruth: Client, study: Study, page: str, current: list[str]
) -> None:
    shown = ruth.get(f"/lab/studies/{study.slug}/{page}").text
    menus = shown[shown.index('class="parts"') :]
    assert [part.split('"')[1] for part in menus.split("aria-current")[1:]][
        : len(current)
    ] == current
