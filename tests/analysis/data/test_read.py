"""The tables hold exactly the trials and scores that a report is about."""

import pytest
from django.utils import timezone

from analysis.codec import need
from analysis.report.chapters.participants.results.flow import build_flow
from analysis.report.services.make import data_version
from experiment.models import Item, Judgment, Participant, Study, StudyItem
from experiment.services.recounting import recount
from experiment.services.withdrawal import withdraw
from scoring.models import ItemScore, LanguageModel, ModelSet, ModelSetMember, ScoringRun
from tests.analysis.data.scored import read, score
from tests.factories import NOW, answers_open, make_arms, make_item, make_participant

pytestmark = pytest.mark.django_db


def test_only_trials_of_the_kind_and_source_are_there_and_no_catch_trials(study):
    make_participant(study)
    make_participant(study, kind="pilot")
    make_participant(study, kind="simulated")
    human, machine = read(study), read(study, "machine")
    assert len(human.trials) == study.human_items
    assert len(machine.trials) == study.machine_items
    assert len(human.participants) == 1
    assert set(human.trials["participant"]) == {0}


def test_excluded_and_unfinished_people_are_only_among_all_trials(study):
    make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=2)
    assert len(read(study).trials) == 6
    assert len(read(study, trials="all").trials) == 6 + 6 + 2
    for trials, n in (("analysed", 0), ("all", 1)):
        flow = need(build_flow(read(study, trials=trials)).results.flow)
        assert flow.note.count("have all judged trials") == n
    Judgment.objects.filter(trial__stratum="human").update(excluded_by="too_fast")
    assert read(study).trials.empty
    assert len(read(study, trials="all").trials) == 14


def test_a_trial_has_its_units_and_what_is_unknown_is_nan(study):
    make_participant(study, judgment={"confidence": None, "rt_ms": None, "confidence_moved": False})
    trials = read(study).trials
    assert trials["confidence"].isna().all()
    assert trials["rt_ms"].isna().all()
    assert (trials["expertise"] == 40).all()
    assert trials["slider_moved"].all()
    assert set(trials["side"]) == {"A", "B"}
    assert (trials["side"] == trials["original_side"]).all()
    assert list(trials["trial_position"]) == [1, 2, 3, 4, 5, 6]


def test_careers_are_in_words_and_declined_answers_unknown(study):
    make_participant(study)
    make_participant(
        study, demographics={"position": "prefer_not_to_say", "age": "prefer_not_to_say"}
    )
    make_participant(study, demographics={"gender": "female", "country": "prefer_not_to_say"})
    people = read(study).participants
    assert list(people["gender"])[1:] == ["", "female"]
    assert list(people["country"])[1:] == ["", ""]
    assert list(people["career"]) == ["Faculty or academic staff", "", ""]
    assert people["age"].iloc[0] == 34.0
    assert people["age"].isna().iloc[1]
    assert people["experience_years"].iloc[0] == 9.5


def test_members_of_the_set_come_first_in_its_order(study):
    for name in ("org/a", "org/b", "org/c"):
        score(study, name)
    model_set = ModelSet.objects.create(study=study, name="ours")
    for position, name in enumerate(("org/c", "org/b")):
        model = LanguageModel.objects.get(name=name)
        ModelSetMember.objects.create(model_set=model_set, language_model=model, position=position)
    data = read(study)
    assert list(data.models["name"]) == ["org/c", "org/b", "org/a"]
    assert list(data.set_models) == [0, 1]
    assert list(data.extra_models) == [2]


def test_ties_are_half_and_near_ties_are_marked(study):
    score(study, "org/tie", ppl=(2.0, 2.0))
    score(study, "org/near", ppl=(2.0, 2.001))
    data = read(study)
    by_model = data.full.groupby("model")[["points", "is_near_tie"]].mean()
    names = list(data.models["name"])
    assert by_model.loc[names.index("org/tie")].tolist() == [0.5, 1]
    assert by_model.loc[names.index("org/near")].tolist() == [1, 1]
    # The same rule, applied one by one
    for row in ItemScore.objects.select_related("run__language_model"):
        decided = by_model.loc[names.index(row.run.language_model.name)]
        assert (row.decision.points, row.decision.is_near_tie) == (
            decided["points"],
            decided["is_near_tie"],
        )


def test_models_and_subfields_can_be_chosen_and_unknown_ones_are_named(study):
    make_item("elsewhere", subfield="Elsewhere")
    other = make_item("another", subfield="Another")
    StudyItem.objects.create(study=study, item=other)
    score(study, "org/a")
    score(study, "org/b")
    make_participant(study)
    assert list(read(study, models=("org/b",)).models["name"]) == ["org/b"]
    assert list(read(study, subfields=("Another",)).items["key"]) == ["another"]
    assert read(study, subfields=("Another",)).trials.empty
    with pytest.raises(ValueError, match=r"models: .*org/z"):
        read(study, models=("org/z",))
    with pytest.raises(
        ValueError,
        match=r"subfields: the study does not have “Elsewhere”\. Choose from Another, Behav",
    ):
        read(study, subfields=("Elsewhere",))


def test_damaged_texts_are_as_published_or_repaired(study):
    first = study.items.filter(kind="test", source="human").order_by("key").first()
    old = make_item(first.key.replace("1", "x"), texts=Item.Texts.AS_PUBLISHED, is_damaged=True)
    new = Item(
        key=old.key,
        version=2,
        markup=old.markup.replace("rose", "grew"),
        texts=Item.Texts.REPAIRED,
        status="accepted",
    )
    new.save()
    StudyItem.objects.create(study=study, item=new)
    person = make_participant(study)
    trial = person.trials.filter(stratum="human").first()
    trial.item = old
    trial.save()
    recount(study, "real")
    as_published, repaired = read(study), read(study, texts="repaired")
    assert as_published.items["is_damaged"].sum() == repaired.items["is_damaged"].sum() == 1
    assert len(as_published.trials) == 6
    assert len(repaired.trials) == 5


def test_the_flow_of_each_arm_counts_all_who_were_assigned(study):
    first, second = make_arms(study, {"name": "alone"}, {"name": "other"})
    make_participant(study, arm=first)
    make_participant(study, arm=first, judged=2)
    make_participant(study, arm=second, judged=0)
    make_participant(study, arm=second, excluded_by="missed_catch")
    alone, other = read(study).flow.arms
    assert alone.arm == "alone"
    assert (alone.consented, alone.finished, alone.answered, alone.analysed) == (2, 1, 2, 1)
    assert alone.excluded == ()
    assert (other.consented, other.finished, other.answered, other.analysed) == (2, 1, 1, 0)
    assert [(one.reason, one.n) for one in other.excluded] == [("missed_catch", 1)]
    assert alone.under_way == other.under_way == 1


def test_the_flow_counts_everybody_once(study):
    make_participant(study)
    make_participant(study, excluded_by="missed_catch untouched_sliders")
    make_participant(study, excluded_by="untouched_sliders")
    make_participant(study, judged=2)
    flow = read(study).flow
    assert (flow.consented, flow.finished, flow.analysed) == (4, 3, 1)
    assert {e.reason: e.n for e in flow.excluded} == {"missed_catch": 1, "untouched_sliders": 1}
    assert flow.trials_analysed == 9
    assert flow.recruited is None
    assert flow.trials_judged == 9 + 9 + 9 + 2
    assert [(e.reason, e.n) for e in flow.trials_excluded] == [("participant", 9 + 9 + 2)]


def test_the_data_version_changes_with_whatever_a_report_depends_on(study):
    make_participant(study)
    make_participant(study)
    seen = [data_version(study)]

    def changed() -> bool:
        seen.append(data_version(study))
        return len(set(seen)) == len(seen)

    assert data_version(study) == seen[0]
    run = score(study)
    assert changed()
    make_participant(study)
    assert changed()
    live = make_participant(study, judged=2)
    assert changed()
    with answers_open():
        Judgment.objects.filter(trial__participant=live).first().delete()
    assert changed()
    withdraw(study, Participant.objects.first().withdrawal_code, timezone.now())
    assert changed()
    LanguageModel.objects.update(family="Llama")
    assert changed()
    ScoringRun.objects.filter(pk=run.pk).update(status="failed")
    assert changed()
    StudyItem.objects.create(study=study, item=make_item("one-more"))
    assert changed()
    Study.objects.filter(pk=study.pk).update(title="Another title")
    study.refresh_from_db()
    assert changed()


def test_people_took_part_if_they_have_an_analysed_trial_of_this_kind(study):
    make_participant(study)
    make_participant(study, excluded_by="missed_catch", demographics={"gender": "other"})
    make_participant(study, judgment={"excluded_by": "recognised"})
    make_participant(study, kind="pilot", demographics={"gender": "female"})
    for trials in ("analysed", "all"):
        found = read(study, trials=trials).taking_part
        assert (found.kind, len(found.people)) == ("real", 1)
        assert found.people["minutes"].tolist() == [30.0]
        assert len(found.rt_ms) == 9  # of both sources
        assert found.other_kinds == {"pilot": 1}
        assert found.routes == {"": 3}
        assert found.first_day == found.last_day == timezone.localdate(NOW)


def test_a_finisher_who_withdrew_is_counted_as_withdrawn_alone(study):
    leaving = make_participant(study, started_at=NOW)
    make_participant(study, started_at=NOW, excluded_by="missed_catch")
    make_participant(study, started_at=NOW)
    assert withdraw(study, leaving.withdrawal_code, timezone.now()) is not None
    data = read(study)
    assert (data.flow.started, data.flow.finished, data.flow.withdrawn) == (3, 3, 1)
    assert data.taking_part.routes == {"": 2}  # what led them here is erased
    steps = need(build_flow(data).results.flow).steps
    assert (
        sum(step.n for step in steps if step.code.value in ("withdrawn", "excluded", "analysed"))
        == 3
    )
    assert "without_trials" not in {step.code.value for step in steps}
