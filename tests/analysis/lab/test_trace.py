"""The page of one test case and one model: what it shows, whom, and where there is nothing to show."""

import re

import pytest
from django.core.management import call_command
from django.test import Client

from analysis.data.filters import SOURCES, ReportOptions
from analysis.data.read import read
from analysis.report.chapters.flips.results import ChangesOfMind
from analysis.report.contents import chapter_named
from analysis.report.services.traces import RunTraces, read_traces
from analysis.stats.flips import PPL
from experiment.models import Study
from scoring.models import ScoringRun
from tests.scoring.lab.rows import published

CHAPTER = chapter_named("flips")

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
ADDRESS = "/lab/studies/memory/results/trace"


@pytest.fixture
def run(study: Study) -> ScoringRun:
    """A run of the demonstration model on every test case of the study."""
    call_command("score", model="embedded", study=study.slug, json=True)
    return ScoringRun.objects.get()


@pytest.fixture
def traces(run: ScoringRun, study: Study) -> RunTraces:
    found = read_traces(run, study)
    assert found is not None
    return found


def test_the_last_sign_by_token_and_by_sentence_is_the_decision_of_every_test_case(
    traces: RunTraces, study: Study
) -> None:
    scores = dict(enumerate(traces.scores))
    assert len(scores) > 3
    for level in ("token", "sentence"):
        found = traces.courses.found[level]
        assert found["item"].tolist() == list(scores)
        for row in found.itertuples():
            score = scores[row.item]
            assert getattr(row, f"end_{PPL}") == score.ppl_altered - score.ppl_original
            assert (row.category[3:] == "Pos") == score.decision.points
    found = read(study, ReportOptions())
    for source in SOURCES:
        data = found[source]
        flips = CHAPTER.build(data).results.flips
        (model,) = flips.models
        assert isinstance(CHAPTER.build(data).results, ChangesOfMind)
        assert (model.token.n_end_disagrees, model.sentence.n_end_disagrees) == (0, 0), source
    # Each token has its place, and all is zero up to the first that differs
    for score in traces.scores:
        by_token = traces.traces(score.item.key)["token"]
        numbers = by_token["number"].drop_duplicates().tolist()
        assert numbers == list(range(1, score.tokens_text_original + 1))
        assert by_token["in_alternation"].any()
        first = int((by_token[PPL].fillna(1) != 0).idxmax())
        assert (by_token[PPL][:first] == 0).all()
        assert by_token[PPL].iloc[-1] == score.ppl_altered - score.ppl_original


def test_the_page_shows_a_typical_test_case_first_any_that_is_asked_for_and_no_other(
    ruth: Client, traces: RunTraces
) -> None:
    typical = next(keys[0] for keys in traces.patterns.values() if keys)
    assert f"<h1>{typical}</h1>" in ruth.get(f"{ADDRESS}/").text
    every = sorted(key for keys in traces.patterns.values() for key in keys)
    assert every == sorted(score.item.key for score in traces.scores)
    for key in every:
        page = ruth.get(f"{ADDRESS}/", {"run": traces.run.pk, "item": key}).text
        assert f"<h1>{key}</h1>" in page
        assert re.findall(r'<option value="([^"]+)" selected', page) == [str(traces.run.pk), key]
    picture = ruth.get(f"{ADDRESS}.svg", {"run": traces.run.pk, "item": every[0]})
    assert picture["Content-Type"] == "image/svg+xml"
    assert "Token of the original" in picture.text
    for query in ({"run": "x"}, {"run": "99999"}, {"item": "nothing"}):
        for end in ("/", ".svg"):
            assert ruth.get(f"{ADDRESS}{end}", query).status_code == 404


def test_a_study_without_token_records_says_so(ruth: Client, study: Study) -> None:
    published(study)
    page = ruth.get(f"{ADDRESS}/")
    assert page.status_code == 200
    assert "/lab/studies/memory/models/" in page.text
    assert "<select" not in page.text
    assert ruth.get(f"{ADDRESS}.svg").status_code == 404
