"""Models that were asked are rows of their own; what cannot be read is missing, and moves nobody else."""

import numpy as np
import pandas as pd
import pytest

from analysis.data.filters import ReportOptions
from analysis.data.version import data_version
from analysis.report.services.make import n_steps
from experiment.models import StudyItem
from scoring.models import LanguageModel, ModelChoice, ModelSet, ModelSetMember, ScoringRun
from tests.analysis.data.choosing import always_a, choose, knows, refuses_a
from tests.analysis.data.scored import read, score
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def names(data, numbers):
    return list(data.models["name"].iloc[numbers])


def test_a_model_that_was_asked_is_a_row_beside_the_same_model_scored(study):
    score(study, "org/a")
    score(study, "org/b")
    run = choose(study, "org/a")
    data = read(study)
    assert list(data.models["name"]) == ["org/a", "org/a (asked)", "org/b"]
    assert list(data.models["display_name"]) == ["org/a", "org/a (asked)", "org/b"]
    assert list(data.models["method"]) == ["perplexity", "choice", "perplexity"]
    # One model is one: by its perplexities
    assert (list(data.set_models), list(data.extra_models)) == ([0, 2], [1])
    asked = data.full[data.full["model"] == 1]
    assert set(asked["run"]) == {-run.pk}
    assert data.read_tokens(1) is None
    assert data.run_prompts[-run.pk] == "short"
    assert asked[["ppl_original", "zlib_original_bytes"]].isna().all(axis=None)
    # One right answer in each order: log((2 + 1/2) / (0 + 1/2))
    assert data.difficulty_nats[1] == pytest.approx(np.log(5))
    assert data.difficulty[1] == pytest.approx(np.log(5))
    assert asked["stated"].tolist() == pytest.approx([0.8] * len(asked))
    assert data.model_correct[1].tolist() == [1.0] * data.n_items


def test_readers_see_how_a_model_took_the_test_only_where_it_is_there_both_ways(study):
    score(study, "org/a")
    choose(study, "org/a")
    choose(study, "org/b")

    def labels(**options):
        return list(read(study, **options).models["display_name"])

    assert labels() == ["org/a", "org/a (asked)", "org/b"]
    assert labels(method="choice") == ["org/a", "org/b"]
    assert labels(models=("org/a (asked)", "org/b (asked)")) == ["org/a", "org/b"]
    assert list(read(study, method="choice").models["name"]) == ["org/a (asked)", "org/b (asked)"]


def test_a_tie_is_half_right_whichever_way_a_model_took_the_test(study):
    score(study, "org/a", ppl=(2.0, 2.0))
    choose(study, "org/a", always_a)
    data = read(study)
    assert set(data.model_correct.ravel()) == {0.5}
    assert np.isnan(data.model_decided).all()


def test_near_ties_of_a_model_that_was_asked_are_of_its_log_odds(study):
    """By the same measure as mean log-likelihoods: a lower precision could turn them."""
    choose(
        study,
        says=lambda n, side, _: {
            "side": side,
            "log_odds": (0.0009 if n else 0.002) * (1 if side == "A" else -1),
        },
    )
    near = read(study).full.sort_values("item")["is_near_tie"].tolist()
    assert near == [False, *[True] * (len(near) - 1)]


def test_no_time_is_said_where_none_is_known_and_a_method_filters(study):
    score(study, "org/a")
    choose(study, says=lambda n, side, _: knows(n, side, 0) | {"seconds": 0.0 if n else 3.0})
    data = read(study, method="choice")
    assert np.isnan(data.choices["seconds"]).sum() == len(data.choices) - 2
    assert data.is_filtered
    assert not read(study).is_filtered


def test_an_item_with_an_order_that_cannot_be_read_is_missing_and_moves_no_other_model(study):
    score(study, "org/a")
    choose(study, "org/b")
    before = read(study)
    choose(study, "org/c", refuses_a)
    after = read(study)
    assert np.isnan(after.model_correct[2]).all()
    assert len(after.choices[after.choices["model"] == 2]) == 2 * after.n_items
    assert set(after.choices["state"]) == {"stop", "refused"}
    assert list(after.set_models) == [0, 1]
    pd.testing.assert_frame_equal(before.full, after.full)


def test_a_text_that_is_no_choice_is_unparsed(study):
    choose(study, says=lambda n, side, sample: {"text": "Both."})
    assert set(read(study).choices["state"]) == {"unparsed"}


def test_a_model_of_the_set_is_a_member_once_scored_before_asked(study):
    score(study, "org/scored")
    for name in ("org/scored", "org/asked", "org/other"):
        choose(study, name)
    model_set = ModelSet.objects.create(study=study, name="ours")
    for position, name in enumerate(("org/scored", "org/asked")):
        model = LanguageModel.objects.get(name=name)
        ModelSetMember.objects.create(model_set=model_set, language_model=model, position=position)
    data = read(study)
    assert names(data, data.set_models) == ["org/scored", "org/asked (asked)"]
    assert names(data, data.extra_models) == ["org/other (asked)", "org/scored (asked)"]
    asked = read(study, method="choice")
    assert names(asked, asked.set_models) == ["org/scored (asked)", "org/asked (asked)"]
    assert set(read(study, method="perplexity").models["method"]) == {"perplexity"}
    assert list(read(study, models=("org/other (asked)",)).models["name"]) == ["org/other (asked)"]


def test_the_fullest_then_the_newest_run_counts_and_no_simulated_one(study):
    widest = choose(study)
    choose(study, limit=1)
    unfinished = choose(study, status="running")
    choose(study, is_simulated=True)
    choose(study, "org/made-up", is_simulated=True)
    data = read(study)
    assert set(data.full["run"]) == {-widest.pk}
    assert list(data.models["name"]) == ["org/a (asked)"]
    type(unfinished).objects.filter(pk=unfinished.pk).update(status="finished")
    assert set(read(study).full["run"]) == {-unfinished.pk}


def test_simulated_runs_alone_are_shown_and_say_so(study):
    choose(study, is_simulated=True)
    assert list(read(study).models["display_name"]) == ["org/a (simulated)"]


def test_answers_about_a_test_case_are_seen_by_each_study_that_shows_it(study):
    other = make_study("other")
    shared = study.items.filter(kind="test", source="human").first()
    StudyItem.objects.create(study=other, item=shared)
    choose(study, is_site_wide=True)
    data = read(other)
    assert np.isfinite(data.model_correct[0]).sum() >= 1


def test_no_other_study_replaces_a_models_choices(study):
    other = make_study("other", human=0, machine=0, catch=0)
    for item in study.items.all():
        StudyItem.objects.create(study=other, item=item)
    own = choose(study)
    choose(other, is_site_wide=True)  # newer, and as wide
    assert set(read(study).full["run"]) == {-own.pk}


def test_a_new_run_of_choices_is_another_version_of_the_data(study):
    seen = {data_version(study)}
    run = choose(study, status="running")
    seen.add(data_version(study))
    type(run).objects.filter(pk=run.pk).update(status="finished")
    seen.add(data_version(study))
    LanguageModel.objects.update(family="Other")
    seen.add(data_version(study))
    assert len(seen) == 4


def test_log_odds_and_samples_come_to_the_mean_over_both_orders(study):
    def says(n, original, sample):
        # 1 nat for A whatever is shown, and 2 for the original
        return {"side": "", "log_odds": 1.0 + (2.0 if original == "A" else -2.0)}

    choose(study, says=says, samples=3, form="likelihood")
    data = read(study)
    assert data.difficulty_nats[0] == pytest.approx(2.0)
    assert data.full["p_original"].to_numpy() == pytest.approx(1 / (1 + np.exp(-2)))
    assert data.full["stated"].isna().all()
    assert ModelChoice.objects.count() == 3 * 2 * study.items.filter(kind="test").count()
    assert ScoringRun.objects.count() == 0


def test_the_chapter_is_there_where_a_model_chose(study):
    score(study)
    run = choose(study, status="running")
    options = ReportOptions(source="human")
    without = n_steps(study, options)
    type(run).objects.filter(pk=run.pk).update(status="finished")
    assert n_steps(study, options) == without + 2  # its numbers, and its figures


def test_a_study_without_choices_has_no_trace_of_them(study):
    score(study)
    data = read(study)
    assert data.choices.empty
    assert set(data.models["method"]) == {"perplexity"}
