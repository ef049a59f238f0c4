"""Subfields and positions: the published values and their order."""

from dataclasses import replace

import pytest

from analysis.report.chapters.accuracy.results import Positions, Subfields, build_subfields
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import ABOUT_ACCURACY, page_of, results_of

POSITIONS = chapter_named("positions")
SUBFIELDS = chapter_named("subfields")


def test_subfields_are_as_published(published, reference):
    found = results_of(published, SUBFIELDS).of(Subfields).subfields
    assert {one.subfield for one in found} == set(reference["subfields"])
    for one in found:
        known = reference["subfields"][one.subfield]
        humans, top, mean = one.humans, one.top_expertise, one.models_mean
        theirs = known["human_top20_within_subfield"]
        assert (one.n_items, one.share_items) == (known["n_items"], known["proportion"])
        assert (humans.n, top.trials.n) == (known["human"]["n_trials"], theirs["n_trials"])
        assert top.threshold == pytest.approx(theirs["threshold"], rel=1e-9)
        for share, expected in ((humans, known["human"]), (top.trials, theirs)):
            pair = (share.accuracy, share.sem)
            assert pair == pytest.approx((expected["accuracy"], expected["sem"]), rel=1e-9)
        assert mean.over_models.mean == pytest.approx(known["llm_mean"], rel=1e-9)
        assert mean.sd_ddof0 == pytest.approx(known["llm_sd_ddof0"], rel=1e-9)
        assert one.n_models_below_humans == len(known["llm_below_human"])
        for model in one.models:
            expected = known["llm"][model.name]["accuracy"]
            assert model.share.accuracy == pytest.approx(expected, rel=1e-9)


def test_the_page_names_the_subfields_of_lowest_and_highest_accuracy(small):
    source = results_of(small, *ABOUT_ACCURACY)
    page, text = page_of(SUBFIELDS, source)
    shares = {s.subfield: s.humans.accuracy for s in source.of(Subfields).subfields}
    low, high = min(shares, key=shares.get), max(shares, key=shares.get)
    assert text.index(low) < text.index(high)
    assert [row[0] for row in page.tables[0].rows] == list(shares)


def test_the_tidy_table_of_subfields_holds_every_trial(small):
    table = build_subfields(small).tables["subfields"]
    assert table[table["who"] == "humans"]["n"].sum() == len(small.trials)
    assert set(table["who"]) == {"humans", "top expertise", "model"}


def test_positions_are_as_published_in_the_questionnaires_order(published, reference):
    found = results_of(published, POSITIONS).of(Positions).positions
    assert [one.position for one in found] == list(published.position_order)
    for one in found:
        known = reference["positions"][one.position]
        assert (one.trials.n, one.n_participants) == (known["n_trials"], known["n_participants"])
        expected = (known["accuracy"], known["sem"])
        assert (one.trials.accuracy, one.trials.sem) == pytest.approx(expected, rel=1e-9)


def test_positions_that_are_not_stated_come_last_and_unlisted_ones_after_the_listed(small):
    careers = small.participants["career"].to_numpy(dtype=object).copy()
    careers[0], careers[1] = "", "Clinician"
    people = small.participants.assign(career=careers)
    found = results_of(replace(small, participants=people), POSITIONS).of(Positions).positions
    names = [one.position for one in found]
    assert names == [*small.position_order, "Clinician", "not stated"]
    assert sum(one.trials.n for one in found) == len(small.trials)
