"""Names stored past every check: the page has every chapter, each figure still draws them, and names are words."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from io import BytesIO
from itertools import cycle
from types import SimpleNamespace

import pytest
from PIL import Image
from pypdf import PdfReader

from analysis.charts import save
from analysis.charts.figure import Figure
from analysis.data.about import StudyName
from analysis.data.dataset import SourceData
from analysis.data.filters import ReportOptions
from analysis.data.graded.tables import GradedData
from analysis.report.chapter import SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.report.page import render_file
from analysis.report.services.save import draw_all
from tests.analysis import made
from tests.analysis import results_stub as stub
from tests.analysis.graded_made import make_graded
from tests.hostile import faults
from tests.hostile_names import EVERY, PRINTABLE, UNPRINTABLE

TAGS = {"svg", "g", "path", "text", "tspan", "rect", "defs", "clipPath", "desc", "linearGradient", "stop", "line", "circle"}  # fmt: skip
N_MODELS = len(PRINTABLE)


def hostile_data() -> SourceData:
    """Every name is a model's or a family's, some are subfields'."""
    data = made.make_data(n_participants=10, n_items=12, n_models=N_MODELS, resamples=100)
    models = data.models.assign(
        display_name=[EVERY[n] for n in range(N_MODELS)],
        family=[EVERY[-1 - n] for n in range(N_MODELS)],
        name=[f"{n}/{EVERY[n]}" for n in range(N_MODELS)],
    )
    for column in ("base_partner", "tuned_from"):
        models[column] = [models["name"][0] if there else "" for there in data.models[column]]
    subfields = cycle((UNPRINTABLE[3], "constructor", "datum.x' + \"\\"))
    items = data.items.assign(subfield=[next(subfields) for _ in range(len(data.items))])
    return replace(data, models=models, items=items, graded=hostile_graded())


def hostile_graded() -> GradedData:
    """Names of models, judges, dimensions and categories."""
    data = make_graded(truth={f"{n}": (0.4, 0.5) for n in range(6)}, n_questions=60, n_people=3)
    models = data.models.assign(
        display_name=[EVERY[n] for n in range(len(data.models))],
        family=[EVERY[-1 - n] for n in range(len(data.models))],
    )
    names = cycle(EVERY)
    hostile = {
        name: {value: next(names) for value in data.categories[name].unique()}
        for name in ("dimension", "category")
    }
    categories = data.categories.assign(
        **{name: data.categories[name].map(known) for name, known in hostile.items()}
    )
    judges = data.judges.assign(name=[PRINTABLE[0], UNPRINTABLE[0]], family=EVERY[:2])
    return replace(data, models=models, categories=categories, judges=judges)


pytestmark = pytest.mark.sweep  # some 40 s: every figure is drawn of its own data


@pytest.fixture(scope="module")
def made_of() -> tuple[SourceResults, Tables]:
    return stub.built(hostile_data())


@pytest.fixture(scope="module")
def figures(made_of: tuple[SourceResults, Tables]) -> dict[str, Figure]:
    return {figure.name: figure for _, figure in draw_all(*made_of)}


def test_every_chapter_is_on_the_page_and_names_are_words(made_of):
    report = stub.report(None, ReportOptions(source="human"), made_of[0])
    study = StudyName("s", f"{UNPRINTABLE[1]} {PRINTABLE[5]}", False)
    report = replace(report, header=replace(report.header, study=study))
    page = render_file(SimpleNamespace(report=report, figures=()))
    there = {c.id for c in CHAPTERS if f'id="{c.id}"' in page}
    assert {c.id for c in CHAPTERS} - there <= {"teams", "flow", "participants", "flips"}
    assert list(faults(page)) == []


def test_every_figure_is_drawn_and_holds_hostile_names_as_text_alone(figures):
    assert {*figures} >= {"accuracy", "subfields", "memorisation"}
    assert len([name for name in figures if name.startswith("graded_")]) == 16
    for name, figure in figures.items():
        picture = save.svg(save.specification(figure), description=figure.alt)
        document = ElementTree.fromstring(picture)  # no character that XML forbids
        tags = {element.tag.rpartition("}")[2] for element in document.iter()}
        assert tags <= TAGS, name
        attributes = {key for element in document.iter() for key in element.attrib}
        assert not [key for key in attributes if key.startswith("on") or key.endswith("href")]


def test_pictures_for_print_say_hostile_words_as_they_are(figures):
    picture = save.svg(save.specification(figures["accuracy"]))
    words = {"Title": PRINTABLE[5], "Description": UNPRINTABLE[4]}
    with Image.open(BytesIO(save.png(picture, words, ppi=50))) as image:
        assert image.info["Title"] == PRINTABLE[5]
    document = PdfReader(BytesIO(save.pdf(picture, words)))
    assert document.metadata["/Title"] == PRINTABLE[5]
    assert not {"/OpenAction", "/AA", "/Names"} & {*document.trailer["/Root"]}
