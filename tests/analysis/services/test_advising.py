"""Freezing an adviser's advice: from a scored model, a model that was asked, people, or a stated accuracy."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from analysis.services.advisers import KINDS, source_label, sources_of
from analysis.services.advising import SEED, WorkedOut, check, digest, work_out
from analysis.stats.advice import planted
from experiment.domain.advice import ADVISERS
from experiment.models import Advice, Adviser, Study, StudyItem
from experiment.services import advisers
from experiment.services.advisers import freeze_to_try, prepare_advice
from experiment.services.readiness import preflight, readiness_problems
from experiment.services.study_setup import change_study, pin_items, set_paused, set_recruitment
from scoring.domain.encoding import Encoded
from scoring.models import ItemScore
from scoring.services import token_store
from scoring.services.token_store import TokenRecord
from tests.analysis.data.choosing import choose, knows
from tests.factories import NOW, make_arms, make_item, make_participant, make_study, make_user
from tests.scoring.lab.rows import ask, store, study_items
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(human=20, machine=10)
    make_arms(study, {"advice": "after"}, {})
    return study


def adviser(study: Study, **fields: Any) -> Adviser:
    given = {"kind": "model", "source": "lab/tiny", "shown_name": "a language model"} | fields
    return Adviser.objects.create(study=study, **given)


def freeze(study: Study) -> Adviser:
    study = Study.objects.get(pk=study.pk)
    prepare_advice(study).freeze(study, NOW)
    return Adviser.objects.get(study=study)


def frozen(study: Study, **fields: Any) -> Adviser:
    adviser(study, **fields)
    return freeze(study)


def scored(study: Study, seed: int = 1, name: str = "lab/tiny") -> None:
    """A model that is right more often where its perplexities differ more."""
    rng = np.random.default_rng(seed)
    run = ask(study, name)
    margins = rng.normal(0.1, 0.15, len(study_items(run)))
    store(run, [(10.0, 10.0 * float(np.exp(margin))) for margin in margins])


def test_each_kind_of_adviser_has_an_entry() -> None:
    assert KINDS.keys() == ADVISERS.keys()


def test_a_scored_models_choices_are_frozen_with_what_they_come_from(study: Study) -> None:
    scored(study)
    found = frozen(study)
    said, rows = found.version, Advice.objects.all()
    assert (found.frozen_at, rows.count(), said["test_cases"]) == (NOW, 30, 30)
    assert said["accuracy"] == rows.filter(picks_original=True).count() / 30
    assert 0.5 <= said["mean_p"] < 1
    assert (said["folds"], len(said["runs"]), said["sha256"]) == (10, 1, digest(found))
    scores = {
        score.item_id: score for run in study.scoring_runs.all() for score in run.item_scores.all()
    }
    assert all(
        row.picks_original == (scores[row.item_id].ppl_original < scores[row.item_id].ppl_altered)
        for row in rows
    )
    # More evidence, more confidence, within one fold's fit
    assert len({round(row.p_chosen, 6) for row in rows}) > 10


def test_scores_that_come_later_change_nothing_once_a_real_participant_has_entered(
    study: Study,
) -> None:
    scored(study)
    before = frozen(study)
    rows = list(Advice.objects.values())
    scored(study, seed=2)
    again = freeze(study)
    assert again.version["sha256"] != before.version["sha256"]
    rows = list(Advice.objects.values())
    Study.objects.update(version=1)
    scored(study, seed=3)
    assert freeze(study).version == again.version
    assert list(Advice.objects.values()) == rows


def test_an_adviser_that_was_asked_is_called_by_its_own_name_unless_it_was_scored_too(
    study: Study,
) -> None:
    scored(study)
    for name in ("lab/tiny", "org/a"):
        choose(study, name)
    scored(study, name="own (asked)")  # so is its own name
    labels = dict(KINDS["model"].choices(sources_of(study)))
    assert labels == {
        "lab/tiny": "lab/tiny", "lab/tiny (asked)": "lab/tiny (asked)", "org/a (asked)": "org/a",
        "own (asked)": "own (asked)",
    }  # fmt: skip
    team = adviser(study, kind="team", source="lab/tiny + org/a (asked)")
    assert source_label(team) == "lab/tiny + org/a"


def test_a_test_case_that_is_added_later_gets_advice_and_the_others_keep_theirs(
    study: Study,
) -> None:
    choose(study, "lab/tiny")
    first = frozen(study, source="lab/tiny (asked)")
    Study.objects.update(version=1)
    before = list(Advice.objects.values())
    study.study_items.create(item=make_item("later"))
    with pytest.raises(ValidationError, match="not judged 1 test case"):
        freeze(study)
    choose(study, "lab/tiny")
    again = freeze(study)
    assert list(Advice.objects.exclude(item__key="later").values()) == before
    assert Advice.objects.count() == 31
    assert again.version["more"][0]["items"] == 1
    assert again.version["sha256"] == digest(again) != first.version["sha256"]


def test_nothing_without_advice_is_drawn_in_an_open_advised_study(study: Study) -> None:
    vera, row = make_user("vera", study), study.study_items.filter(item__kind="test").first()
    set_paused(study, row.item, by=vera, reason="It leaked.", now=NOW)
    choose(study, "org/a")
    later = make_item("later")
    pin_items(study, [later])
    set_paused(study, later, by=vera, reason="Not yet.", now=NOW)
    adviser(study, source="org/a (asked)")
    study = set_recruitment(study, "open")
    assert Advice.objects.count() == 30  # of the paused one that the model knows too
    before = list(Advice.objects.values())
    resumed = set_paused(study, row.item, by=vera, reason="It did not.", now=None)
    assert resumed.paused_at is None
    with pytest.raises(ValidationError, match="not judged 1 test case"):
        set_paused(study, later, by=vera, reason="Now.", now=None)
    with pytest.raises(ValidationError, match="Close recruitment, add them"):
        pin_items(study, [make_item("last")])
    choose(study, "org/a")
    assert set_paused(study, later, by=vera, reason="Now.", now=None).paused_at is None
    assert Advice.objects.filter(item=later).exists()
    assert list(Advice.objects.exclude(item=later).values()) == before
    assert Adviser.objects.get().version["more"][0]["items"] == 1
    pin_items(study, [make_item("easy", kind="catch")])


def test_half_of_an_asked_models_ties_are_right_as_its_accuracy_says(study: Study) -> None:
    def wavers(n: int, original: str, sample: int) -> dict[str, Any]:
        return {"side": "A", "confidence": 90.0} if n % 3 == 0 else knows(n, original, sample)

    choose(study, "org/a", wavers)
    found = frozen(study, source="org/a (asked)")
    assert found.version["ties"] == 10
    ties = Advice.objects.filter(
        item__in=[
            item
            for n, item in enumerate(study.items.filter(kind="test").order_by("key"))
            if n % 3 == 0
        ]
    )
    assert ties.filter(picks_original=True).count() == 5
    assert found.version["runs"][0] < 0


def test_a_team_of_models_advises_by_fits_without_the_publication(study: Study) -> None:
    scored(study)
    scored(study, seed=2, name="lab/small")
    found = frozen(study, kind="team", source="lab/tiny + lab/small")
    said, rows = found.version, Advice.objects.order_by("item")
    assert (said["test_cases"], len(said["runs"])) == (30, 2)
    assert "publications in 10 random blocks" in said["method"].lower()
    before = {row.item_id: (row.picks_original, row.p_chosen) for row in rows}
    assert all(0.5 <= p < 1 for _, p in before.values())
    # What the models say of one publication changes its own advice, which no other test case of it had a part in
    item = rows[0].item
    for score in ItemScore.objects.filter(item=item):
        score.ppl_original, score.ppl_altered = score.ppl_altered, score.ppl_original
        score.save()
    freeze(study)
    turned = Advice.objects.get(item=item)
    picked, p = before[item.pk]
    assert turned.picks_original != picked
    assert turned.p_chosen == pytest.approx(p)


def test_a_team_with_a_silent_member_keeps_the_study_from_opening(study: Study) -> None:
    scored(study)
    choose(study, "org/a", limit=29)
    adviser(study, kind="team", source="lab/tiny + org/a (asked)")
    with pytest.raises(ValidationError, match="not judged 1 test case"):
        work_out(study)


def test_the_majority_of_participants_advises_on_what_they_judged(study: Study) -> None:
    for _ in range(12):
        make_participant(study, kind="pilot")
    found = frozen(study, kind="people", source="pilot")
    assert found.version["accuracy"] == 1
    assert sources_of(study)["people"] == ["pilot"]


def test_a_study_whose_adviser_lacks_judgments_cannot_open(study: Study) -> None:
    assert [str(problem) for problem in readiness_problems(study)] == [
        "an arm has advice, but the study has no adviser"
    ]
    adviser(study)
    [problem] = readiness_problems(study)
    assert "cannot be computed: The adviser has not judged 30" in str(problem)
    with pytest.raises(ValidationError, match="not judged 30 test cases"):
        set_recruitment(study, "open")
    assert not Advice.objects.exists()
    scored(study)
    assert readiness_problems(study) == []
    assert not Advice.objects.exists()
    set_recruitment(study, "pilot")
    assert Advice.objects.count() == 30
    assert Adviser.objects.get().frozen_at is not None
    study.arms.update(advice="none")
    Adviser.objects.all().delete()
    assert readiness_problems(study) == []


def test_a_study_under_way_is_opened_again_although_the_scores_are_gone(study: Study) -> None:
    scored(study)
    adviser(study)
    set_recruitment(study, "open")
    rows = list(Advice.objects.values())
    Study.objects.update(version=1, recruitment="closed")
    study.scoring_runs.all().delete()
    assert set_recruitment(study, "open").recruitment == "open"
    assert list(Advice.objects.values()) == rows
    study.study_items.create(item=make_item("later"))
    [problem] = readiness_problems(Study.objects.get())
    assert "not judged 1 test case" in str(problem)


def test_opening_after_a_pilot_freezes_anew(study: Study) -> None:
    scored(study)
    adviser(study)
    set_recruitment(study, "pilot")
    before = list(Advice.objects.values())
    scored(study, seed=2)
    set_recruitment(study, "open")
    assert list(Advice.objects.values()) != before
    set_recruitment(study, "pilot")
    study.scoring_runs.all().delete()
    with pytest.raises(ValidationError, match="not judged 30 test cases"):
        set_recruitment(study, "open")


@pytest.mark.parametrize("changed", ["adviser", "test cases", "resumed", "entered", "arms"])
def test_advice_is_not_frozen_where_it_was_worked_out_from_something_else(
    study: Study, changed: str
) -> None:
    scored(study)
    rows = Study.objects.filter(pk=study.pk)
    adviser(study)
    later = study.study_items.create(item=make_item("later"), paused_at=NOW)
    advice = prepare_advice(study)
    if changed == "adviser":
        Adviser.objects.update(source="lab/small")
    elif changed == "test cases":
        study.study_items.filter(item__kind="test").first().delete()
    elif changed == "resumed":
        study.study_items.filter(pk=later.pk).update(paused_at=None)
    elif changed == "entered":
        rows.update(version=1)
    else:
        study.arms.update(advice="none")
    with pytest.raises(ValidationError, match="Try again"):
        advice.freeze(rows.get(), NOW)
    assert not Advice.objects.exists()


def test_nothing_is_added_to_advice_that_was_never_frozen(study: Study) -> None:
    scored(study)
    adviser(study)
    Study.objects.update(version=1)
    [problem] = readiness_problems(Study.objects.get())
    assert "No advice was frozen before participants could enter" in str(problem)
    with pytest.raises(ValidationError, match="No advice was frozen"):
        freeze(study)


NOTED: list[bool] = []


def noted(study: Study, to_add: set[int] | None) -> WorkedOut:
    """Works out as usual, and notes whether the study's row was locked."""
    NOTED.append(any("FOR NO KEY UPDATE" in query["sql"] for query in connection.queries_log))
    return work_out(study, to_add)


@pytest.mark.postgres
def test_advice_is_worked_out_once_to_be_frozen_and_before_the_study_is_locked(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advisers, "ADVISING", [advisers.Advising(noted, check)])
    NOTED.clear()
    adviser(study, kind="planted", source="", planted_accuracy=0.7)
    Study.objects.update(debriefing="The advice was made up.")
    study.refresh_from_db()
    with CaptureQueriesContext(connection):
        assert not [problem for problem in preflight(study) if problem.is_blocking]
        assert NOTED == []
        set_recruitment(study, "open")
    assert NOTED == [False]
    later = study.study_items.create(item=make_item("later"), paused_at=NOW).item
    vera = make_user("vera", study)
    connection.queries_log.clear()
    with CaptureQueriesContext(connection):
        set_paused(study, later, by=vera, reason="Now.", now=None)
    assert NOTED == [False, False]
    assert Advice.objects.filter(item=later).exists()


def test_trying_an_unopened_study_shows_advice_if_there_can_be_any(
    study: Study,
) -> None:
    adviser(study)
    with pytest.raises(ValidationError, match="not judged 30 test cases"):
        freeze_to_try(study, NOW)
    assert not Advice.objects.exists()
    scored(study)
    freeze_to_try(study, NOW)
    rows = list(Advice.objects.values())
    assert len(rows) == 30
    scored(study, seed=2)
    freeze_to_try(study, NOW)
    assert list(Advice.objects.values()) == rows
    set_recruitment(study, "open")
    assert list(Advice.objects.values()) != rows


def test_planted_advice_is_right_as_stated_and_must_be_revealed(study: Study) -> None:
    found = frozen(study, kind="planted", source="", planted_accuracy=0.7)
    assert found.version["accuracy"] == pytest.approx(0.7)
    assert set(Advice.objects.values_list("p_chosen", flat=True)) == {0.7}
    [problem] = readiness_problems(study)
    assert str(problem).startswith("the advice is made up, but the study does not have its own")
    with pytest.raises(ValidationError, match="debriefing"):
        set_recruitment(study, "open")
    study.debriefing = "The advice was made up, to see how people use it."
    study.save()
    assert set_recruitment(study, "open").recruitment == "open"
    with pytest.raises(ValidationError, match="must be explained"):
        change_study(study, {"debriefing": " "}, by=make_user("ruth", study))
    change_study(study, {"debriefing": "We made it up."}, by=make_user("rita", study))


def test_planted_advice_keeps_its_accuracy_where_test_cases_are_added(study: Study) -> None:
    frozen(study, kind="planted", source="", planted_accuracy=0.7)
    Study.objects.update(version=1)
    before = dict(Advice.objects.values_list("item", "picks_original"))
    for n in range(20):
        study.study_items.create(item=make_item(f"a-{n}"))
    freeze(study)
    after = dict(Advice.objects.values_list("item", "picks_original"))
    assert {item: after[item] for item in before} == before
    rows = Advice.objects.filter(picks_original=True)
    assert [rows.filter(item__source=of).count() for of in ("human", "machine")] == [28, 7]
    assert len(after) == 50


@pytest.mark.both
def test_draws_and_digest_go_by_the_same_order_on_every_database() -> None:
    study = make_study(human=0, machine=0)
    make_arms(study, {"advice": "after"})
    keys = ["A2", "B", "a-1", "a1", "b", "Z", "z-9", "_x"]
    study.study_items.bulk_create([StudyItem(study=study, item=make_item(key)) for key in keys])
    found = frozen(study, kind="planted", source="", planted_accuracy=0.5)
    rows = Advice.objects.values_list(
        "item__key", "item__version", "item__sha256", "picks_original", "p_chosen", "passages"
    )
    picked = {row[0]: row[3] for row in rows}
    right = planted(["human"] * 8, 0.5, seed=SEED)
    assert picked == dict(zip(sorted(keys), right, strict=True))
    lines = "".join(json.dumps(row) + "\n" for row in sorted(rows))
    assert found.version["sha256"] == hashlib.sha256(lines.encode()).hexdigest()


def test_passages_say_how_much_each_counted(study: Study, settings: Any, tmp_path: Any) -> None:
    store_files_in(settings, tmp_path)
    scored(study)
    run = study.scoring_runs.get()
    item = study_items(run)[0]
    records = [
        TokenRecord(
            item.key, item.version, 0, version, *_tokens(getattr(item, version), word, nats)
        )
        for version, word, nats in (("original", "rose", 1.0), ("altered", "fell", 4.0))
    ]
    with token_store.staged_part(run, 0, records) as publish:
        publish()
    frozen(study, shows_passages=True)
    row = Advice.objects.get(item=item)
    assert row.passages == [1.0 if row.picks_original else -1.0]
    assert not any(Advice.objects.exclude(item=item).values_list("passages", flat=True))


def _tokens(text: str, word: str, nats: float) -> tuple[Encoded, np.ndarray]:
    """The text before the passage, the passage with so many nats, and what follows."""
    at = text.index(word)
    spans = np.array([(0, at), (at, at + len(word)), (at + len(word), len(text))])
    pieces = [text[a:b] for a, b in spans]
    encoded = Encoded(
        ids=np.arange(3),
        pieces=pieces,
        spans=spans,
        in_text=np.ones(3, bool),
        in_alternation=np.array([False, True, False]),
    )
    return encoded, np.array([0.0, -nats, -0.5])


def test_the_page_sets_the_adviser_until_recruitment_opens(study: Study, client: Client) -> None:
    scored(study)
    client.force_login(make_user("ruth", study))
    address = f"/lab/studies/{study.slug}/set-up/advice/"
    page = client.get(address).content.decode()
    assert 'value="model:lab/tiny"' in page
    wanted = {"adviser": "model:lab/tiny", "shown_name": "a language model", "shows": "rating"}
    assert client.post(address, wanted | {"adviser": "planted:"}).status_code == 422
    assert 'name="members"' not in page
    # Percent is another scale than participants', and stays where it was chosen before
    assert client.post(address, wanted | {"shows": "percent"}).status_code == 422
    scored(study, seed=2, name="lab/small")
    team = wanted | {"adviser": "team:", "members": ["lab/tiny"]}
    assert client.post(address, team).status_code == 422
    assert client.post(address, team | {"members": ["lab/small", "lab/tiny"]}).status_code == 302
    assert Adviser.objects.get().members == ["lab/small", "lab/tiny"]
    assert client.get(address).content.decode().count("checked") >= 3
    Adviser.objects.update(shows="percent")
    assert client.post(address, wanted | {"shows": "percent"}).status_code == 302
    assert client.post(address, wanted).status_code == 302
    assert "Opening recruitment, also to pilots" in client.get(address).content.decode()
    set_recruitment(study, "pilot")
    shown = client.get(address).content.decode()
    assert Adviser.objects.get().version["sha256"] in shown
    assert "each opening of recruitment freezes the advice again" in shown
    assert "Later data do not change it." not in shown
    assert 'name="adviser"' not in shown
    assert client.post(address, wanted).status_code == 422
    set_recruitment(study, "closed")
    assert client.post(address, wanted).status_code == 302
    assert not Advice.objects.exists()
    assert Adviser.objects.get().frozen_at is None
    for name in ("advice_after", "advice_before"):
        shown = client.get(f"/lab/studies/{study.slug}/set-up/preview/{name}/").content.decode()
        assert "Chosen by a language model" in shown
