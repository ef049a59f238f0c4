"""The report of a study that asks questions and shows no abstracts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from analysis.report.contents import CHAPTERS
from experiment.models import Study
from scoring.services.made_up import make_up
from tests.analysis.data.graded_rows import make_questions
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.drifts, pytest.mark.usefixtures("var_dir")]
GRADED = [chapter for chapter in CHAPTERS if chapter.id.startswith("graded-")]


@pytest.fixture
def study() -> Study:
    found = make_questions(24, is_demo=True)
    make_up(found)
    return found


def test_its_page_shows_each_chapter_on_graded_answers_and_says_that_they_are_simulated(
    client: Client, study: Study
) -> None:
    client.force_login(make_user("ruth", study))
    response = client.get(
        reverse("lab:results", args=[study.slug]) + "?now=1&source=human", follow=True
    )
    assert response.status_code == 200
    page = response.content.decode()
    for chapter in GRADED:
        assert page.count(f'name="chapter" id="{chapter.id}"') == 1
    assert page.count("<figure") == 13
    assert "Simulated model A" in page
    assert "are simulated, to show what results look like" in page
    for wrong in ("None", ">nan", "Traceback"):
        assert wrong not in page
    (figure, *_) = re.findall(r'<img src="([^"]*graded_[^"]*)"', page)
    assert client.get(figure.replace("&amp;", "&")).status_code == 200


def test_the_command_writes_their_numbers_tables_and_figures(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "report"
    call_command("report", study.slug, "--source", "human", "--output", str(folder), "--formats", "svg")  # fmt: skip
    values: dict[str, Any] = json.loads((folder / "report.json").read_text())
    rated = values["sources"]["human"]["graded_rates"]
    assert rated["is_simulated"]
    assert len(rated["models"]) == 7
    tables = {path.name for path in (folder / "tables").iterdir()}
    assert {"human_graded_rates.csv", "human_graded_states.csv", "human_graded_pairs.csv"} <= tables
    assert len(list((folder / "figures").glob("human_graded_*.svg"))) == 13
