"""The demo study and the presets: what ships with the project, and the commands that set it up."""

from collections import Counter

import pytest
from django.core.management import CommandError
from django.db.models import Count

from experiment.domain.markup import parse, render
from experiment.models import Item, Study
from experiment.services.item_choice import ensure_items, read_items
from experiment.services.readiness import readiness_problems
from tests.experiment.lab_client import run_json

SUBFIELDS = {
    "Behavioral/Cognitive",
    "Systems/Circuits",
    "Neurobiology of Disease",
    "Cellular/Molecular",
    "Development/Plasticity/Repair",
}


def of_kind(kind):
    return [entry for entry in read_items() if entry["kind"] == kind]


def test_there_are_six_test_items_per_subfield_six_catch_items_and_one_practice_item():
    assert Counter(entry["subfield"] for entry in of_kind("test")) == dict.fromkeys(SUBFIELDS, 6)
    assert (len(of_kind("catch")), len(of_kind("practice"))) == (6, 1)
    assert len({entry["key"] for entry in read_items()}) == 37


@pytest.mark.parametrize("entry", of_kind("test"), ids=lambda entry: entry["key"])
def test_a_demo_item_has_90_to_160_words_and_one_to_four_alternations(entry):
    abstract = parse(entry["markup"])
    assert 90 <= len(abstract.original.split()) <= 160
    assert 90 <= len(abstract.altered.split()) <= 160
    assert 1 <= len(abstract.alternations) <= 4
    assert parse(render(abstract.segments)) == abstract


@pytest.mark.django_db
def test_demo_items_are_as_the_checks_want_them_and_marked_as_demo_material_without_a_doi():
    items = ensure_items(tuple(Item.Kind.values))
    found = {item.key: [w.code for w in item.warnings] for item in items if item.warnings}
    # One word of a passage each stands elsewhere in its ordinary sense ("controls", "card"): read, and left
    repeated = ("01", "07", "10", "24", "26")
    assert found == {f"demo-test-{number}": ["decodable"] for number in repeated}
    assert all(item.is_demo and not item.doi and item.status == "accepted" for item in items)


@pytest.mark.django_db
def test_the_demo_study_can_be_taken_and_loading_it_again_changes_nothing():
    first = run_json("load_demo", "--simulate", "2")
    study = Study.objects.get(slug="demo")
    assert (study.recruitment, readiness_problems(study)) == ("open", [])
    assert study.is_demo
    assert first["items"] == {"human": 20, "machine": 10, "catch": 6, "practice": 1}
    assert first["simulated"]["finished"] == 2
    assert run_json("load_demo", "--simulate", "2") == first
    assert Item.objects.exclude(kind="question").count() == 37


@pytest.mark.django_db
def test_the_demo_has_thirty_questions_in_a_study_of_their_own():
    run_json("load_demo", "--simulate", "0")
    study = Study.objects.get(slug="demo-questions")
    assert (study.recruitment, readiness_problems(study)) == ("open", [])
    assert study.trial_counts == {"human": 0, "machine": 0, "catch": 0, "question": 6}
    questions = study.drawable_items.filter(kind="question")
    of_templates = questions.values_list("template__key").annotate(n=Count("pk"))
    assert sorted(of_templates, key=lambda found: found[0] or "~") == [
        ("element-family", 6),
        ("element-state", 6),
        ("element-symbol", 6),
        (None, 12),
    ]
    assert len(set(questions.values_list("markup", flat=True))) == 30
    assert all(item.expert_answer and item.categories and item.is_demo for item in questions)


@pytest.mark.django_db
def test_a_closed_demo_stays_closed():
    run_json("load_demo", "--simulate", "0")
    Study.objects.update(recruitment="closed")
    run_json("load_demo", "--simulate", "0")
    assert set(Study.objects.values_list("recruitment", flat=True)) == {"closed"}


@pytest.mark.django_db
def test_simulated_participants_need_nobody_whom_they_could_ask():
    ensure_items(("test", "catch", "practice"))
    Item.objects.update(is_demo=False)
    data = run_json("create_study", "ours", "--collection", "any")
    assert data["problems"] == ["no contact address: participants must know whom they can ask"]
    simulated = run_json("simulate_participants", "ours", "--finish", "1", "--dropout", "0")
    assert simulated["flow"]["finished"] == 1


@pytest.mark.django_db
def test_a_study_is_not_created_twice_and_not_opened_without_items():
    run_json("create_study", "ours")
    with pytest.raises(CommandError, match="study ours already exists"):
        run_json("create_study", "ours")
    with pytest.raises(CommandError, match="cannot be opened: each participant judges 6 human"):
        run_json("create_study", "other", "--recruitment", "open")
    assert not Study.objects.filter(slug="other").exists()
