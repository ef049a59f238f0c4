"""Names stored past every check: each figure still draws them, and only as text."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from io import BytesIO
from itertools import cycle

import pytest
from PIL import Image
from pypdf import PdfReader

from analysis.charts import save
from analysis.charts.figure import Figure
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from analysis.report.services.save import draw_all
from tests.analysis import made
from tests.analysis.graded_made import make_graded
from tests.analysis.report.test_figures import built
from tests.hostile_names import EVERY, PRINTABLE, UNPRINTABLE

TAGS = {"svg", "g", "path", "text", "tspan", "rect", "defs", "clipPath", "desc", "linearGradient", "stop", "line", "circle"}  # fmt: skip
N_MODELS = len(PRINTABLE)
# The others: tests/analysis/lab/test_hostile_names.py
GRADED = (
    "graded-rates",
    "graded-categories",
    "graded-comparisons",
    "graded-answers",
    "graded-agreement",
)
CHAPTERS = ("models", "subfields", "memorisation", *GRADED)


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
def figures() -> dict[str, Figure]:
    return {figure.name: figure for _, figure in draw_all(*built(hostile_data(), *CHAPTERS))}


def test_every_figure_is_drawn_and_holds_hostile_names_as_text_alone(figures):
    assert {*figures} >= {"accuracy", "subfields", "memorisation"}
    assert len([name for name in figures if name.startswith("graded_")]) == 14
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
