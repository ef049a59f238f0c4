"""The figures: each draws its chapter's results, says what it shows, and is one specification in all formats."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image

from analysis.charts import save, style
from analysis.charts.figure import Figure
from analysis.charts.rows import labels
from analysis.report.chapter import SourceResults, Tables
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.contents import CHAPTERS
from tests.analysis import made
from tests.analysis import results_stub as stub
from tests.analysis.advised_made import with_advice
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.graded_made import make_graded

# Others have tests of their own: teams take long, flow and flips need more than trials and scores
DRAWN = [
    figure.__name__
    for chapter in CHAPTERS
    if chapter.id not in ("teams", "flow", "flips")
    for figure in chapter.figures
]

# Chapters that show people, models or both
PARTLY = ("models", "subfields", "calibration", "integration", "crossed")


def draw(name: str, source: SourceResults, tables: Tables) -> Figure:
    (builder,) = (f for c in CHAPTERS for f in c.figures if f.__name__ == name)
    return builder(source, tables)


def svg(figure: Figure) -> str:
    return save.svg(save.specification(figure))


def size(picture: str) -> list[float]:
    """Width and height in px."""
    return [float(x) for x in ElementTree.fromstring(picture).get("viewBox").split()[2:]]


def colours(figure: Figure) -> set[str]:
    return set(re.findall(r"#[0-9a-f]{6}", str(save.specification(figure)["datasets"])))


@pytest.fixture(scope="module", autouse=True)
def few_are_drawn() -> Iterator[None]:
    """Bins of one or two test cases have a figure here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analysis.report.chapters.confidence.words.FEWEST_PER_BIN", 1)
        yield


@pytest.fixture(scope="module")
def report(small):
    graded = make_graded(n_people=10, n_questions=120)
    graded.answers.loc[:9, "state"] = "length"  # else there is nothing to draw of how answers ended
    margins, n = 40 * small.difficulty_nats, range(2)
    asked = [(m, answers_of(margins[m], confidence=lambda p: 100 * p.clip(0.5))) for m in n]
    advice = {"advised": with_advice().advised, "adviser_name": "a language model"}
    data = replace(small, resamples=100, graded=graded, **advice)
    return stub.built(with_asked(data, *asked))


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_draws_its_results_and_says_what_it_shows_and_of_whom(report, name):
    figure = draw(name, *report)
    assert figure.name == name
    assert len(figure.table) > 0
    assert figure.caption.startswith("n = ")
    assert figure.alt.endswith(".")
    assert not re.search(r"\bnan\b|None|unknown|[{}]", figure.caption + figure.alt)
    specified = save.specification(figure, check=True)
    assert specified["config"]["font"] == style.FONT
    picture = save.svg(specified)
    assert size(picture)[0] <= style.FULL
    # It brings nothing from elsewhere
    addresses = set(re.findall(r"https?://[^\"' )]+", picture))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r'font-family="([^"]*)"', picture)) == {style.FONT}
    assert not re.search(r"<script|@font-face|<image|<foreignObject|\son\w+=", picture)


@pytest.mark.parametrize("name", ["", *DRAWN])
def test_a_row_about_a_model_says_how_it_took_the_test(report, name):
    own = report[0].of(Accuracy)
    methods = {m.name: m.method for m in (*own.models, *own.extra_models)}
    assert set(methods.values()) == {"perplexity", "choice"}
    for table in [draw(name, *report).table] if name else report[1].values():
        rows = table[table["name"].isin(methods)] if "name" in table else []
        if len(rows):
            assert list(rows["method"]) == [methods[model] for model in rows["name"]]


WORDS = {"Title": "Positions", "Description": "n = 3, “simulated”"}


def test_a_png_has_300_dots_per_inch_at_the_width_of_two_columns_and_says_what_it_is(report):
    picture = svg(draw("accuracy", *report))
    with Image.open(BytesIO(save.png(picture, WORDS))) as image:
        assert image.info["dpi"] == pytest.approx((300, 300), abs=0.1)
        assert image.width / 300 * 25.4 == pytest.approx(size(picture)[0] / 4, abs=0.1)  # mm
        assert {key: image.info[key] for key in WORDS} == WORDS


def test_only_simulated_data_have_a_watermark_and_what_is_said_is_not_drawn(report):
    specified = save.specification(draw("positions", *report))
    plain = save.svg(specified, description="Study <s> & more")
    assert "watermark" not in plain
    assert "SIMULATED" in save.svg(specified, watermark="SIMULATED")


def test_thirty_models_with_long_names_stay_legible_and_within_the_page():
    """Ten families, a few models of them alike up to the last letters."""
    data = made.make_data(n_models=30, n_items=40)
    models = data.models.assign(
        display_name=[
            f"Some-Language-Model-{n}B (instruct), tuned on papers, LoRA r={n}" for n in range(30)
        ],
        family=[f"A family of models {n // 3}" for n in range(30)],
        in_set=True,
    )
    data = replace(data, models=models, resamples=20)
    source, tables = stub.built(data, *PARTLY, "agreement")
    shown = labels(source.of(Accuracy).models).values()
    names = ("accuracy", "subfields", "agreement", "models_humans_agreement", "integration")
    for name in (*names, "crossed"):
        picture = svg(draw(name, source, tables))
        width, height = size(picture)
        assert width <= style.FULL
        assert height >= 30 * 13  # a line of text each
        assert set(shown) <= set(ElementTree.fromstring(picture).itertext())
        assert min(int(px) for px in re.findall(r'font-size="(\d+)px"', picture)) >= 10


def test_colours_do_not_depend_on_which_other_models_are_shown(report):
    source, tables = report
    own = source.of(Accuracy)
    last = replace(
        source, results={**source.results, Accuracy: replace(own, models=own.models[-1:])}
    )
    everyone, fewer = (colours(draw("accuracy", some, tables)) for some in (source, last))
    assert style.HUMANS in fewer
    assert fewer < everyone
    assert style.family_colour("Falcon") != style.family_colour("Galactica")
