"""The published data, imported whole; figures are those of the reference analysis."""

import csv
from collections import Counter
from datetime import date
from statistics import fmean, stdev

import pytest
from django.utils import timezone

from experiment.domain.exclusion import ParticipantFacts, Rules, TrialFacts, judge_participant
from experiment.models import Item, Judgment, Participant, Study, StudyItem, Trial
from experiment.services import counts
from experiment.services.curation import reviews
from experiment.services.readiness import readiness_problems
from scoring.models import (
    CorpusScore,
    ItemScore,
    LanguageModel,
    ModelSet,
    ModelSetMember,
    ScoringRun,
)
from tests.factories import accepted
from tests.published import run_import

pytestmark = pytest.mark.django_db

MENDABLE = "brainbench-human-063"
# Key -> whether it is repaired without a person
DAMAGED = {
    MENDABLE: False,
    **{f"brainbench-machine-0{n}": True for n in (25, 52, 59, 67)},
}
ANSWERS = ("correct", "recognised", "rt_ms", "confidence_moved", "expertise_moved")
TABLES = (
    *(Item, Study, StudyItem, Participant, Trial, Judgment),
    *(LanguageModel, ModelSet, ModelSetMember, ScoringRun, ItemScore, CorpusScore),
)


@pytest.fixture
def study(imported, db):
    return Study.objects.get(slug="brainbench")


def published_rows(results_dir, name):
    path = results_dir / "testcases" / f"BrainBench_{name}_v0.1.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def drawn(study) -> dict[str, int]:
    """Key -> version of the test items that the study draws."""
    return dict(study.items.filter(kind="test").values_list("key", "version"))


def state() -> dict:
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in TABLES}


def test_the_report_keeps_its_contract(imported):
    assert imported["items"] == {"human": 200, "machine": 100}
    assert (imported["participants"], imported["trials"]) == (171, 1514)
    assert imported["excluded_before_publication"] == {"participants": 31, "trials": 25}
    assert imported["problems"] == []
    # This copy has no results on the GPT-4-created test cases
    assert imported["absent"] == ["model_results/*/llm_abstracts/"]
    damaged = [(d["source"], d["row"], d["repaired"]) for d in imported["damaged"]]
    assert damaged == [("human", 62, False), *(("machine", n, True) for n in (24, 51, 58, 66))]
    assert {d["doi"] for d in imported["damaged"]} >= {"10.1523/JNEUROSCI.0772-22.2022"}
    assert all(d["reason"] for d in imported["damaged"])
    # Sections that the files name differently
    assert sum("is in the section" in note for note in imported["notes"]) == 2
    assert "abstract_id 65 (machine)" in imported["notes"][0]


def test_judgments_add_up_to_the_reference_figures(study):
    judgments = Judgment.objects.of(study, "imported").valid()
    human = judgments.filter(trial__stratum="human")
    assert (human.count(), human.filter(correct=True).count()) == (1011, 641)
    machine = judgments.filter(trial__stratum="machine")
    assert (machine.count(), machine.filter(correct=True).count()) == (503, 992 - 641)
    assert judgments.filter(confidence_moved=False).count() == 88
    # Reference: untouched sliders of human-created trials show as 50/50.
    assert human.filter(confidence=50, expertise=50, expertise_moved=False).count() == 57


def test_exposures_are_the_published_ones_and_those_of_the_labs_page(study):
    published = Item.objects.filter(source="human", texts="as-published")
    judged = Counter(
        Judgment.objects.of(study, "imported").valid().values_list("trial__item", flat=True)
    )
    exposures = [judged.get(pk, 0) for pk in published.values_list("pk", flat=True)]
    assert (len(exposures), min(exposures), max(exposures)) == (200, 1, 9)
    assert (fmean(exposures), round(stdev(exposures), 2)) == (5.055, 1.52)
    # Reference: the GPT-4-created test cases were judged 2 to 9 times, 5.03 on average
    items = counts.item_exposures(study, "imported", timezone.now())
    human, machine = counts.exposures([row for row in items if row.stratum != "catch"])
    assert (machine.n_items, machine.min, machine.max, machine.mean) == (100, 2, 9, 5.03)
    assert (human.n_items, human.min, human.max) == (199, 1, 9)


def test_every_item_gives_the_published_versions_to_the_character(imported, db, results_dir):
    stored = {item.key: item for item in Item.objects.filter(version=1, texts="as-published")}
    for source, name in (("human", "Human"), ("machine", "GPT-4")):
        for n, row in enumerate(published_rows(results_dir, name), start=1):
            item = stored.pop(f"brainbench-{source}-{n:03d}")
            texts = (row["original_abstract"], row["incorrect_abstract"])
            assert (item.original, item.altered) == texts
            assert (item.abstract.original, item.abstract.altered) == texts
            assert f"https://doi.org/{item.doi}" == row["doi"]
            assert item.generator == {"human": "", "machine": "GPT-4"}[source]
    assert not stored


def test_dates_go_by_doi_to_both_sets(imported, db):
    first = Item.objects.get(key="brainbench-human-001", version=1)
    assert first.publication_date == date(2023, 8, 2)
    assert not Item.objects.filter(key__startswith="brainbench-", publication_date=None).exists()
    dates = Item.objects.filter(kind="test").values_list("doi", "publication_date")
    human = dict(dates.filter(source="human"))
    assert all(human[doi] == day for doi, day in dates.filter(source="machine"))


def test_the_five_damaged_texts_alone_are_repaired_from_the_same_work_in_the_other_set(
    imported, db
):
    second = Item.objects.filter(key__startswith="brainbench-", version=2)
    assert {item.key: item.texts for item in second} == dict.fromkeys(DAMAGED, "repaired")
    for item in second:
        if DAMAGED[item.key]:
            counterpart = Item.objects.get(source="human", doi=item.doi, kind="test")
            assert (item.status, item.original) == ("accepted", counterpart.original)
            assert item.altered != item.original


def test_a_text_that_needs_mending_is_a_readable_draft_that_no_study_draws(study):
    draft = Item.objects.get(key=MENDABLE, version=2)
    assert (draft.status, draft.texts) == ("draft", "repaired")
    # Version 1's altered text runs over the missing bracket; the draft closes it.
    assert "]" in Item.objects.get(key=MENDABLE, version=1).altered
    assert "]" not in draft.original + draft.altered
    assert "closes the bracket" in draft.note
    assert MENDABLE not in drawn(study)
    assert len(drawn(study)) == 299


def test_trials_stay_with_the_text_that_people_saw(study):
    trials = Trial.objects.filter(participant__study=study)
    assert set(trials.values_list("item__version", "item__texts")) == {(1, "as-published")}
    damaged = trials.filter(item__key__in=DAMAGED)
    assert set(damaged.values_list("item__key", flat=True)) == set(DAMAGED)


def test_participants_are_told_in_our_own_codes(study):
    people = list(study.participants.all())
    states = {(p.kind, p.stage, p.external_source, p.excluded_by) for p in people}
    assert states == {("imported", "finished", "brainbench", "")}
    assert all(p.consented_at is p.started_at is p.finished_at is None for p in people)
    first = study.participants.get(published_id="9940143")
    told = {"gender": "male", "age": "40", "country": "AU", "position": "other"}
    assert first.demographics == told | {"experience_years": "10"}
    strata = list(first.trials.values_list("stratum", flat=True))
    assert [stratum for stratum, _ in first.plan] == strata
    countries = Counter(p.demographics["country"] for p in people)
    assert len(countries) == 22
    assert {"US", "IE", "CZ", "TR"} <= countries.keys()
    # The raw row is kept
    judgment = Judgment.objects.get(trial__participant__published_id="9940143", trial__position=1)
    assert judgment.source_record["abstract_id"] == "34.0"
    assert judgment.trial.item.key == "brainbench-human-034"
    assert (judgment.rt_ms, judgment.confidence, judgment.expertise) == (101807, 15, 1)
    assert judgment.side == judgment.trial.original_side == ""


def test_our_exclusion_rules_find_nothing_left_to_exclude(study):
    for participant in study.participants.prefetch_related("trials__judgment"):
        trials = [
            TrialFacts(t.pk, t.stratum, *(getattr(j, name) for name in ANSWERS))
            for t in participant.trials.all()
            if (j := t.judgment)
        ]
        facts = ParticipantFacts(finished=True, cheated=None, trials=trials)
        verdict = judge_participant(facts, Rules())
        assert not verdict.participant
        assert not any(verdict.trials.values())


def test_the_study_can_be_taken(study):
    assert study.recruitment == "draft"
    # The publication names no one whom participants of a replication could ask
    [problem] = readiness_problems(study)
    assert str(problem).startswith("no contact address")


def test_a_second_import_writes_nothing(imported, db, results_dir):
    before = state()
    again = run_import(results_dir)
    assert set(again["created"].values()) == {0}
    assert again | {"created": None} == imported | {"created": None}
    assert state() == before


def test_the_study_draws_the_texts_of_the_mode_in_either_order(study, results_dir):
    repaired = drawn(study)
    for key, is_repaired in DAMAGED.items():
        assert repaired.get(key) == (2 if is_repaired else None)
    report = run_import(results_dir, "--texts", "as-published")
    assert len(drawn(study)) == 300
    assert set(drawn(study).values()) == {1}
    assert [entry["repaired"] for entry in report["damaged"]] == [False] * 5
    run_import(results_dir, "--texts", "repaired")
    assert drawn(study) == repaired


def test_another_study_can_draw_the_published_texts(imported, db, results_dir):
    report = run_import(results_dir, "--texts", "as-published", "--study", "replication")
    assert (report["created"]["items"], report["created"]["trials"]) == (0, 1514)
    assert set(drawn(Study.objects.get(slug="replication")).values()) == {1}


def test_a_mended_text_is_drawn_and_kept(study, results_dir):
    draft = Item.objects.get(key=MENDABLE, version=2)
    draft.markup = draft.markup.replace("while they", "whereas they")
    draft.save()
    accepted(draft)
    run_import(results_dir)
    assert drawn(study)[MENDABLE] == 2
    before = state()
    assert set(run_import(results_dir)["created"].values()) == {0}
    assert state() == before
    assert "whereas they" in Item.objects.get(key=MENDABLE, version=2).original


def test_decisions_of_curators_stand(study, results_dir):
    study.study_items.filter(item__key="brainbench-human-001").delete()
    Item.objects.filter(key="brainbench-human-002").update(status="retired")
    revised = reviews.revise(Item.objects.get(key="brainbench-machine-025", version=2))
    revised = accepted(revised)
    study.study_items.filter(item__key=revised.key).update(item=revised)
    before = state()
    report = run_import(results_dir)
    assert state() == before
    assert any("brainbench-machine-025 v3" in note for note in report["notes"])
