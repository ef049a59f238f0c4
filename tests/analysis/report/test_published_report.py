"""After the import of the published data the report rests on the published files, and replication.md has the known differences.

That the chapters give the reference figures, which were computed from the files, is tested beside each chapter.
"""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from analysis.codec import MissingResult
from analysis.data import read
from analysis.data.filters import ReportOptions
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.teams.results import Teams
from analysis.report.replication.build import Verdict, compare, replicate
from analysis.report.replication.printed import NO_MACHINE_SCORES, PLACES, ROWS
from analysis.report.replication.values import Recomputed
from analysis.report.replication.words import markdown
from analysis.report.services.make import make_report
from analysis.services.export import is_replicable
from analysis.stats import NotEnough
from analysis.teams.options import TeamOptions
from analysis.teams.services import make_teams
from experiment.models import Study
from tests.hostile_names import PRINTABLE
from tests.markdown_pages import wrong

# Else no database is made when these tests run alone
pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def made(imported, django_db_blocker) -> Iterator[SimpleNamespace]:
    """One import for all tests here: the frames, the report and the replication; the database stays empty."""
    with django_db_blocker.unblock():
        study = Study.objects.get(slug="brainbench")
        options = ReportOptions(resamples=200)
        report = make_report(study, options)
        human = report.sources["human"]
        yield SimpleNamespace(
            frames=read.read(study, options),
            repaired=read.read(study, ReportOptions(texts="repaired")),
            report=report,
            human=human,
            machine=report.sources["machine"],
            teams=human.of(Teams).teaming,
            replication=replicate(study, report),
            study=study,
        )


def test_repaired_texts_leave_out_what_nobody_judged_repaired(made):
    assert made.repaired["human"].n_items == 199
    assert len(made.repaired["human"].trials) == 1011 - 4
    assert made.repaired["machine"].items["is_damaged"].sum() == 4
    assert len(made.repaired["machine"].trials) < 503


def test_the_report_is_of_all_published_people_and_models(made):
    human, machine = made.human.of(Accuracy), made.machine.of(Accuracy)
    assert (human.humans.trials.n, len(human.models)) == (1011, 15)
    assert machine.humans.trials.n == 503
    assert isinstance(machine.models_mean, MissingResult)
    assert "No language model has scored" in machine.models_mean.reason


def test_the_known_differences_are_found_and_no_others(made):
    found = made.replication
    assert {(one.row.place.name, one.row.what) for one in found.of(Verdict.DIFFERS)} == {
        ("people", "male, percent"),
        ("overall", "models against people: t"),
        ("overall", "base against chat: t"),
        ("overall", "base against chat: p"),
        ("overall", "base against chat: d"),
        ("overall", "base against chat: interval, upper"),
        ("tuning", "perplexity of the correct version: interval, lower"),
        ("others", "TinyLlama (chat): accuracy, percent"),
        ("expertise", "Cellular/Molecular: expertise from which on a trial is among the top 20%"),
    }
    assert all(one.explained for one in found.of(Verdict.DIFFERS))
    assert found.of(Verdict.ABSENT) == []


def test_values_not_in_the_imported_files_name_the_missing_ones(made):
    found = made.replication.of(Verdict.NOT_IN_FILES)
    # This copy is without model_results/*/llm_abstracts, and only models need them
    no_scores = [one for one in found if one.row.not_in_files == NO_MACHINE_SCORES]
    assert {one.row.source for one in no_scores} == {"machine"}
    assert {one.row.printed for one in no_scores} == {"", "0.83", "0.06", "0.27", "0.05"}
    assert not [
        one for one in no_scores if one.row.what.startswith(("accuracy of people", "people"))
    ]
    # Where models were scored, it is not for want of scores that a value is missing
    scored = {"machine": Recomputed(made.machine, made.frames["human"])}
    assert {compare(one.row, scored).verdict for one in no_scores} == {Verdict.ABSENT}


def test_replication_is_only_of_what_the_paper_was_about(made):
    assert is_replicable(made.report)
    header = made.report.header
    for other in (
        {"texts": "repaired"},
        {"trials": "all"},
        {"rules": 1},
        {"models": ("gpt2",)},
        {"subfields": ("x",)},
    ):
        options = replace(header.options, **other)
        assert not is_replicable(replace(made.report, header=replace(header, options=options)))


def test_an_explanation_is_given_only_where_it_explains(made):
    (row,) = [row for row in ROWS if row.why == "item_means"]
    recomputed = Recomputed(made.human, made.frames["human"])
    assert compare(row, {"human": recomputed}).instead == pytest.approx(25.80524, abs=1e-5)
    own = made.human.of(Accuracy)
    changed = replace(own, models_vs_humans=replace(own.models_vs_humans, t_item_means=3.0))
    results = replace(made.human, results={**made.human.results, Accuracy: changed})
    other = compare(row, {"human": replace(recomputed, results=results)})
    assert (other.verdict, other.explained) == (Verdict.DIFFERS, False)


def test_the_known_statements_are_checked_in_the_data(made):
    found = made.replication.facts
    assert (found.damaged.n_items, len(found.damaged.keys)) == (300, 5)
    left_out = found.left_out
    assert (left_out.n_recognised, left_out.n_fast) == (0, 0)
    assert (left_out.n_blocks, left_out.n_analysed, left_out.n_trials) == (202, 171, 25)
    assert found.untouched.by_source == (("human", 57), ("machine", 31))
    assert [other.key for other in found.other_sections] == [
        "brainbench-machine-070",
        "brainbench-machine-088",
    ]
    assert (found.exposures.min, found.exposures.max) == (1, 9)
    assert (found.tuning.gained, found.tuning.lost) == (10, 4)
    assert not found.isolated.is_same


def test_the_document_has_a_row_for_each_value_and_each_statement(made):
    found = made.replication
    text = markdown(found, f"BrainBench {PRINTABLE[5]}")
    assert wrong(text) == []
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    n_differing, n_facts, n_verdicts, n_models = len(found.of(Verdict.DIFFERS)), 7, 5, 15
    n_headings = 4 + len(PLACES)
    n_rows = len(found.comparisons) + n_differing + n_facts + n_verdicts + n_models
    assert len(rows) == n_rows + n_headings
    assert "10 gained, 4 lost, exact McNemar p = 0.18" in text
    assert "25.80524" in text
    # Each reason and each verdict has its words
    assert not [line for line in rows if line.endswith("| not in the imported files |  |")]
    lacking = [line for line in rows if "model_results/*/llm_abstracts/" in line]
    no_scores = [one for one in found.comparisons if one.row.not_in_files == NO_MACHINE_SCORES]
    of_people = [one for one in no_scores if one.recomputed is not None]
    assert len(lacking) == len(no_scores) - len(of_people) > 20
    assert "|  |  |  |" not in text


# Teams

SHORT = {
    "human": "Human",
    "meta-llama/Llama-2-7b-chat-hf": "7B",
    "meta-llama/Llama-2-13b-chat-hf": "13B",
    "meta-llama/Llama-2-70b-chat-hf": "70B",
}


def test_the_bayesian_pairs_are_within_two_and_a_half_points_of_the_reference(made, reference):
    rows = {row.team.names: row for row in made.teams.bayesian}
    for model, short in list(SHORT.items())[1:]:
        known = reference["own_exact_bayesian_plugin"][f"human_{short}"]
        row = rows["human", model]
        assert row.accuracy == pytest.approx(known["loo_item_acc"], abs=0.025)
        assert row.log_loss_nats <= known["logloss"]
        own, theirs = row.complementarity, known["acc_by"]
        assert own.all_right.n == theirs["both_right"][1]
        assert own.only_first.n == theirs["human_only"][1]
        assert own.only_second.n == theirs["llm_only"][1]
        assert own.none_right.n == theirs["neither"][1]
        assert row.about.diagnostics.converged
    assert ("human", "human-2") in rows


def test_chosen_teams_are_those_of_the_report(made):
    members = ("human", "llama-2-7b-chat", "llama-2-13b-chat")
    options = TeamOptions(members=members, resamples=200)
    chosen = make_teams(made.study, options).document.tried.teams
    theirs = {row.team.names: row for row in made.teams.logistic}
    assert len(chosen) == 5
    for row in chosen:
        assert row == replace(
            theirs[row.team.names],
            gain_p_holm=row.gain_p_holm,
            gain_tests=row.gain_tests,
            gain_verdict=row.gain_verdict,
        )
    # Nobody scored the machine-created test cases
    assert isinstance(made.machine.of(Teams).teaming, MissingResult)
    with pytest.raises(NotEnough, match="No language model has scored"):
        make_teams(made.study, TeamOptions(source="machine"))
