"""Names of older sites, stored past every check: the pages of results hold every chapter and figure, and names as words."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import date, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from analysis.data.filters import ReportOptions
from analysis.report.contents import CHAPTERS
from analysis.report.replication.build import markdown, replicate
from analysis.report.report import Report
from analysis.report.services import make
from analysis.teams import services
from analysis.teams.options import TeamOptions
from experiment.models import Item, Study
from experiment.simulation.run import Plan, ServiceDriver, simulate
from scoring.models import LanguageModel
from tests.analysis.results_stub import url
from tests.factories import make_study, make_user
from tests.hostile import faults
from tests.hostile_names import PRINTABLE, UNPRINTABLE
from tests.markdown_pages import wrong
from tests.scoring.lab.rows import ask, finish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
SIMULATED = "?participants=simulated&now=1"
MODELS = (UNPRINTABLE[0], UNPRINTABLE[3], "constructor")
FAMILIES = ("datum.x", PRINTABLE[0], PRINTABLE[2])
SUBFIELDS = (UNPRINTABLE[3], "constructor", PRINTABLE[5])
# They need revised answers, and models that read texts of reference
ABSENT = {"flips", "memorisation", *(c.id for c in CHAPTERS if c.id.startswith("graded-"))}


@pytest.fixture
def study() -> Study:
    """People who judged, models that scored; and then every name is another one."""
    study = make_study(human=12, machine=0, machine_items=0)
    plan = Plan(16, dropout=0.1, arrival="steady", accuracy=0.63, seed=1)
    for _ in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
        pass
    for n in range(len(MODELS)):
        finish(ask(study, f"lab/{n}"), right=6 + n, near=2)
        finish(ask(study, f"lab/{n}", condition="isolated"), right=5 + n)
        finish(ask(study, f"lab/{n}", condition="swapped", seed=42), right=4 + n)
    for n, name in enumerate(MODELS):
        LanguageModel.objects.filter(name=f"lab/{n}").update(
            display_name=name, family=FAMILIES[n], n_parameters=10**9 * (n + 1)
        )
    base = LanguageModel.objects.get(name="lab/0")
    LanguageModel.objects.filter(name="lab/2").update(tuned_from=base)
    subfields = cycle(SUBFIELDS)
    for n, item in enumerate(Item.objects.order_by("key")):
        Item.objects.filter(pk=item.pk).update(
            subfield=next(subfields),
            generator=UNPRINTABLE[4],
            publication_date=date(2023, 1, 1) + timedelta(days=9 * n),
        )
    Study.objects.update(title=f"{UNPRINTABLE[1]} {PRINTABLE[5]}", field=UNPRINTABLE[4])
    study.refresh_from_db()
    return study


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Report]:
    """Those that are made; their intervals of few resamples, as what is drawn and written is the same."""
    make_report, make_teams, made = make.make_report, services.make_teams, list[Report]()

    def report(study: Study, options: ReportOptions, *more: Any) -> Any:
        made.append(make_report(study, replace(options, resamples=20), *more))
        return made[-1]

    def teams(study: Study, options: TeamOptions, *more: Any) -> Any:
        return make_teams(study, replace(options, resamples=20), *more)

    monkeypatch.setattr(make, "make_report", report)
    monkeypatch.setattr(services, "make_teams", teams)
    return made


def pictures(folder: Path, page: str) -> int:
    """How many figures a page has: each is a picture that holds text alone."""
    found = list(folder.rglob("*.svg"))
    assert page.count("<figure") == page.count("<img src=") == len(found)
    for path in found:
        picture = ElementTree.fromstring(path.read_bytes())  # no character that XML forbids
        tags = {element.tag.rpartition("}")[2] for element in picture.iter()}
        assert not tags & {"script", "a", "foreignObject", "image"}, path.name
        names = {name for element in picture.iter() for name in element.attrib}
        assert not [name for name in names if name.startswith("on")], path.name
    return len(found)


@pytest.mark.sweep  # all chapters and figures are made
def test_every_chapter_and_figure_is_there_whatever_things_are_called(
    client: Client, study: Study, tmp_path: Path, reports: list[Report]
) -> None:
    client.force_login(make_user("ruth", study))
    response = client.get(url(query=SIMULATED), follow=True)
    page = response.content.decode()
    assert response.status_code == 200
    assert list(faults(page)) == []
    there = {c.id for c in CHAPTERS if f'name="chapter" id="{c.id}"' in page}
    assert {c.id for c in CHAPTERS} - there == ABSENT
    assert pictures(tmp_path / "results" / "report", page) > 20
    replication = replicate(study, reports[0].sources, reports[0].header.options)
    assert wrong(text := markdown(replication, study.title)) == []
    assert "pwned(1)" in text
    asked = "".join(f"&members={name}" for name in ("human", "lab/0", "lab/1"))
    response = client.get(url("results_teams", query=SIMULATED + asked), follow=True)
    page = response.content.decode()
    assert response.status_code == 200
    assert list(faults(page)) == []
    assert pictures(tmp_path / "results" / "teams", page) == 5
