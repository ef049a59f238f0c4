"""The runs and people that a study's tables hold: its own, and those of other studies on its test cases."""

import numpy as np
import pytest

from analysis.report.services.make import data_version
from experiment.models import Item, Judgment, Study, StudyItem
from tests.analysis.data.scored import read, score
from tests.factories import make_item, make_participant, make_study

pytestmark = pytest.mark.django_db


def test_the_newest_whole_run_with_the_usual_prompt_counts(study):
    score(study, ppl=(2, 3), prompt="paper")
    newest = score(study, ppl=(2, 4), prompt="paper")
    score(study, ppl=(2, 5), prompt="paper", limit=1)
    score(study, ppl=(2, 6), prompt="clean")
    score(study, ppl=(2, 7), prompt="paper", status="failed")
    score(study, "org/b", prompt="paper")
    data = read(study)
    assert set(data.full.loc[data.full["model"] == 0, "run"]) == {newest.pk}
    assert len(data.full) == 2 * 8
    assert data.run_prompts[newest.pk] == "paper"


def test_beside_published_people_stand_published_scores(study):
    published = score(study, backend="imported", prompt="paper")
    own = score(study, prompt="paper")
    make_participant(study, kind="imported")
    assert set(read(study).full["run"]) == {published.pk}
    assert set(read(study, participants="real").full["run"]) == {own.pk}


def pinning(study: Study, slug: str, *extra: Item, most: int | None = None) -> Study:
    """Another study, with the first of this one's human-created test cases and others."""
    other = make_study(slug, human=0, machine=0)
    shared = study.items.filter(kind="test", source="human").order_by("key")[:most]
    for item in (*shared, *extra):
        StudyItem.objects.create(study=other, item=item)
    return other


def test_a_run_of_the_site_counts_in_every_study_on_the_test_cases_that_it_covers(study):
    new = make_item("only-here")
    run = score(study, is_site_wide=True)
    other = pinning(study, "other", new, most=3)
    data = read(other)
    assert set(data.full["run"]) == {run.pk}
    assert [data.items["key"][n] for n in data.full["item"]] == [
        "memory-human-1",
        "memory-human-2",
        "memory-human-3",
    ]
    assert data.n_items == 4  # the one that nobody scored stays without a score
    assert np.isnan(data.difficulty).sum() == 1
    assert len(read(study).full) == 8
    assert read(make_study("strange")).full.empty


def test_the_run_that_covers_most_of_the_study_counts(study):
    old = score(study, is_site_wide=True)
    new_item = make_item("only-here")
    other = pinning(study, "other", new_item, most=2)
    score(study, limit=1, is_site_wide=True)  # newer, and covers less of either study
    own = score(other)
    assert set(read(study).full["run"]) == {old.pk}
    assert set(read(other).full["run"]) == {own.pk}


def test_published_people_join_a_study_that_shows_what_they_judged_only_if_asked(study):
    for number in ("1", "2"):
        make_participant(study, kind="imported", external_source="brainbench", published_id=number)
    other = pinning(study, "other", most=4)
    assert read(other).trials.empty
    data = read(other, participants="imported")
    kept = Judgment.objects.filter(trial__item__in=other.items.all())
    assert 0 < len(data.trials) == kept.count() < 12
    assert len(data.participants) == 2
    assert data.flow.trials_analysed == len(data.trials)
    assert [e.n for e in data.flow.trials_excluded if e.reason == "not_shown"] == [
        Judgment.objects.exclude(trial__stratum="catch").count() - len(data.trials)
    ]
    assert read(make_study("strange"), participants="imported").trials.empty


def test_people_who_were_imported_into_two_studies_join_a_third_once(study):
    again = pinning(study, "again")
    person = {"kind": "imported", "external_source": "brainbench", "published_id": "7"}
    make_participant(study, **person)
    again.human_items, again.machine_items, again.catch_items = 6, 0, 0
    make_participant(again, **person)
    other = pinning(study, "other")
    assert len(read(other, participants="imported").participants) == 1
    assert len(read(again, participants="imported").participants) == 1  # its own


def test_the_data_version_changes_with_runs_and_published_people_of_other_studies(study):
    other = pinning(study, "other")
    seen = [data_version(other)]
    score(study, is_site_wide=True)
    seen.append(data_version(other))
    make_participant(study, kind="imported")
    seen.append(data_version(other))
    assert len(set(seen)) == 3
    make_participant(study)
    assert data_version(other) == seen[-1]
