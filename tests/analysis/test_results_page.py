"""The lab's results page: what it says, of what, to whom; test_caching.py has how its numbers come about."""

import re

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.lab.filter_form import read
from analysis.lab.results import chapter_links
from analysis.presentation import Link
from analysis.report.contents import CHAPTERS, GROUPS
from analysis.report.page import render_file, sections
from analysis.report.report import StoredReport
from analysis.services.compute import Asked
from experiment.models import Item, Study
from tests.analysis import results_stub as stub
from tests.analysis.data.choosing import choose
from tests.analysis.results_stub import shown, url
from tests.factories import make_participant, make_study, make_user
from tests.scoring.lab.rows import ask, finish

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
HUMAN = ReportOptions(source="human")


def test_the_page_shows_every_chapter_in_order_with_sentences_figures_and_tables(
    ruth: Client, computed: list[ReportOptions]
) -> None:
    page = shown(ruth)
    present = [c for c in CHAPTERS if None in c.missing_in(stub.source())]
    assert len(present) > 12
    titles = re.findall(r'<h2 id="[\w-]+-heading">([^<]+)</h2>', page)
    assert titles == ["Contents", *(c.title for c in present), "Downloads"]
    first = page.split('<span class="question">')[1].split("</span>")[0]
    assert first.startswith("10 participants judged 80 trials and found the original in")
    # One answers the study's question, above its own chapter
    assert page.count("<figure") == 3
    assert page.index('alt="Alt of accuracy"') < page.index('<details class="panel chapter')
    for group in GROUPS:
        named = any(c in present for c in group.chapters)
        assert (f'<h2 class="group">{group.title}</h2>' in page) is named
    for chapter in present:
        assert f'<details class="panel chapter" name="chapter" id="{chapter.id}">' in page
    assert "<details open" not in page


def test_chapters_with_a_page_of_their_own_lead_there(study: Study) -> None:
    for query, ending in (("", "/teams/"), ("source=machine", "/teams/?source=machine")):
        links = chapter_links(read(study, QueryDict(query)))
        assert links["teams"].address.endswith(ending)
        assert list(links) == ["teams", "flips"]
    of_models = Link("Go on", "/there/")
    found = sections(stub.report(study, HUMAN), more={"models": of_models})
    assert {
        section.id: section.more for section in found if not section.is_gap and section.more
    } == {"models": of_models}


def test_simulated_participants_are_marked_at_the_top_and_on_every_figure(
    ruth: Client, study: Study, computed: list[ReportOptions]
) -> None:
    make_participant(study, kind="simulated")
    make_participant(study, kind="pilot")
    assert "There are: 1 pilot, 1 simulated." in shown(ruth, "?kind=real")
    page = shown(ruth)  # the only kind that is a result
    assert computed[0].participants == ""
    assert "Simulated participants: no person took part." in page[: page.index("<figure")]
    assert page.count('<span class="tag tag-simulated">') == page.count("<figure") == 3
    assert "10 simulated participants judged" in page


def test_filters_in_the_address_become_options(ruth: Client, computed: list[ReportOptions]) -> None:
    for name in ("lab/a", "lab/b"):
        finish(ask(Study.objects.get(), name), right=5)
    Item.objects.filter(key="memory-human-1").update(subfield="Other")
    query = "source=machine&kind=simulated&texts=repaired&trials=all"
    shown(ruth, f"?{query}&models=lab/b&subfields=Other&now=1")
    (options,) = computed
    assert (options.source, options.participants, options.texts, options.trials) == (
        "machine", "simulated", "repaired", "all",
    )  # fmt: skip
    assert (options.models, options.subfields) == (("lab/b",), ("Other",))


def test_models_are_filtered_by_method_where_one_was_asked(
    ruth: Client, study: Study, computed: list[ReportOptions]
) -> None:
    finish(ask(study, "lab/a (asked)"), right=5)  # of a model whose own name ends so
    assert 'name="method"' not in shown(ruth)
    choose(study, "lab/b")
    page = shown(ruth, "?method=choice&now=1")
    assert computed[-1].method == "choice"
    assert 'name="method" value="choice" checked' in page
    assert 'value="lab/b (asked)"' in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("source=alien", "Test cases: “alien” is not one of human, machine, all"),
        ("kind=pilot", "Participants: “pilot” is not one of real, simulated, imported"),
        ("models=nobody/nothing", "this study has no “nobody/nothing”; it was left out"),
        ("sauce=human", "There is no filter “sauce”"),
    ],
)
def test_invalid_parts_of_an_address_are_named_and_left_out(
    ruth: Client, computed: list[ReportOptions], query: str, said: str
) -> None:
    page = shown(ruth, f"?{query}&now=1")
    assert said in page
    assert (computed[0].source, computed[0].models, computed[0].subfields) == ("human", (), ())
    answer = ruth.get(url("results_report", query=f"?{query}"))
    assert answer.status_code == 400  # a file cannot carry the message
    assert said in answer.content.decode()


def test_figures_come_as_svg_png_pdf_and_csv(ruth: Client, computed: list[ReportOptions]) -> None:
    page = shown(ruth)
    starts = {
        "svg": b"<svg",
        "png": b"\x89PNG",
        "pdf": b"%PDF",
        "csv": b"who,accuracy,participants\n",
    }
    for kind, start in starts.items():
        (address,) = set(
            re.findall(rf'href="([^"]+human_(?:figure_)?accuracy\.{kind}[^"]*)"', page)
        )
        response = ruth.get(address.replace("&amp;", "&"))
        assert response.content.startswith(start)
        assert "no-store" in response["Cache-Control"]
    assert ruth.get(url("results_figure", "human_nothing", "svg")).status_code == 404
    assert ruth.get(url("results_figure", "human_accuracy", "exe")).status_code == 404
    assert ruth.get(url("results_table", "human_nothing")).status_code == 404


def test_tables_are_at_full_precision_and_defused(
    ruth: Client, computed: list[ReportOptions]
) -> None:
    response = ruth.get(url("results_table", "human_models"))
    assert response.content.decode().splitlines() == [
        "name,accuracy,participants", "'=1+1,0.30000000000000004,real", "Model 1,0.75,real",
    ]  # fmt: skip


def test_the_report_as_one_file_needs_nothing_else(
    study: Study, computed: list[ReportOptions]
) -> None:
    page = render_file(StoredReport(Asked(study, ReportOptions()).ensure_computed()))
    assert page.count("data:image/svg+xml;base64,") == 6
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', page) == []
    assert "<script" not in page
    assert 'name="chapter"' not in page  # all of it is open, and on paper too
    assert "default-src 'none'" in page


def addresses(slug: str) -> list[str]:
    names = [("results", ()), ("results_live", ()), ("results_report", ()), ("results_html", ())]
    names += [("results_figure", ("human_accuracy", "svg")), ("results_table", ("human_models",))]
    return [reverse(f"lab:{name}", args=[slug, *args]) for name, args in names]


def test_the_results_of_others_do_not_exist(
    ruth: Client, study: Study, computed: list[ReportOptions]
) -> None:
    theirs = make_study("theirs")
    key = Asked(theirs, ReportOptions(source="human")).ensure_computed().key
    for address in addresses("theirs"):
        assert ruth.get(address).status_code == 404, address
    # nor do they under the address of one's own study
    own = ruth.get(url("results_report", query=f"?v={key}")).json()
    assert own["study"]["slug"] == "memory"
    assert ruth.get(url("results_report", query="?v=../../x")).json()["study"]["slug"] == "memory"


# A study that asks questions and shows no abstracts


@pytest.mark.drifts
def test_its_page_shows_each_chapter_on_graded_answers_and_says_that_they_are_simulated(
    client: Client, questions_report: Study
) -> None:
    client.force_login(make_user("ruth", questions_report))
    response = client.get(
        reverse("lab:results", args=[questions_report.slug]) + "?now=1", follow=True
    )
    assert response.status_code == 200
    page = response.content.decode()
    for chapter in [chapter for chapter in CHAPTERS if chapter.id.startswith("graded-")]:
        assert page.count(f'name="chapter" id="{chapter.id}"') == 1
    assert page.count("<figure") == 15
    assert not re.search(r">(Teams|Traces|Compare)</a>|[Tt]est cases judged", page)
    assert "Simulated model A" in page
    assert "are simulated to show what results look like" in page
    for wrong in ("None", ">nan", "Traceback"):
        assert wrong not in page
    (figure, *_) = re.findall(r'<img src="([^"]*graded_[^"]*)"', page)
    assert client.get(figure.replace("&amp;", "&")).status_code == 200


def test_without_scripts_results_that_nobody_asked_for_are_offered_to_be_computed(
    ruth: Client, computed: list[ReportOptions]
) -> None:
    page = ruth.get(reverse("lab:results", args=["memory"])).text
    offer = page[page.index("<noscript>") : page.index("</noscript>")]
    assert "Nothing is computed yet" in offer
    assert not computed
    ruth.get(reverse("lab:results", args=["memory"]) + re.search(r'href="([^"]*)"', offer)[1])
    assert len(computed) == 1
