"""The demo study and the presets: what ships with the project, and the commands that set it up."""

import json
from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count

from experiment.domain.markup import parse, render
from experiment.models import Item, Study
from experiment.services.item_choice import ensure_items, read_items
from experiment.services.readiness import readiness_problems
from tests.factories import make_item

SUBFIELDS = {
    "Behavioral/Cognitive",
    "Systems/Circuits",
    "Neurobiology of Disease",
    "Cellular/Molecular",
    "Development/Plasticity/Repair",
}


def run(name, *arguments):
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


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
    first = run("load_demo", "--simulate", "2")
    study = Study.objects.get(slug="demo")
    assert (study.recruitment, readiness_problems(study)) == ("open", [])
    assert study.is_demo
    assert first["items"] == {"human": 20, "machine": 10, "catch": 6, "practice": 1}
    assert first["simulated"]["finished"] == 2
    assert run("load_demo", "--simulate", "2") == first
    assert Item.objects.exclude(kind="question").count() == 37


@pytest.mark.django_db
def test_the_demo_has_thirty_questions_in_a_study_of_their_own():
    run("load_demo", "--simulate", "0")
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
    run("load_demo", "--simulate", "0")
    Study.objects.update(recruitment="closed")
    run("load_demo", "--simulate", "0")
    assert set(Study.objects.values_list("recruitment", flat=True)) == {"closed"}


@pytest.mark.django_db
def test_the_preset_makes_the_papers_study_of_all_accepted_brainbench_items():
    for n in range(9):
        make_item(f"human-{n}", doi=f"10.1/h{n}", collection="brainbench")
        make_item(f"machine-{n}", source="machine", doi=f"10.1/m{n}", collection="brainbench")
    make_item("unfinished", status="draft", collection="brainbench")
    make_item("of-our-own", doi="10.1/own")
    ensure_items(("test",))
    contact = ("--contact", "lab@example.org")
    data = run("create_study", "ours", "--preset", "brainbench", *contact, "--recruitment", "open")
    assert data["items"] == {"human": 9, "machine": 9, "catch": 6, "practice": 1}
    assert data["left_out"] == 1
    study = Study.objects.get(slug="ours")
    assert study.trial_counts == {"human": 6, "machine": 3, "catch": 2}
    assert study.consent.number == 1
    assert (study.min_rt_ms, study.live_minutes, study.recruitment) == (5000, 15, "open")


@pytest.mark.django_db
def test_a_published_text_that_awaits_its_repair_is_not_used():
    make_item("whole")
    make_item("damaged", texts="as-published")
    make_item("damaged", version=2, texts="repaired", status="draft")
    make_item("repaired", texts="as-published")
    make_item("repaired", version=2, texts="repaired")
    run("create_study", "ours", "--collection", "any")
    used = Study.objects.get().items.filter(kind="test")
    assert sorted(map(str, used)) == ["repaired v2", "whole v1"]


@pytest.mark.django_db
def test_a_study_is_not_created_twice_and_not_opened_without_items():
    run("create_study", "ours")
    with pytest.raises(CommandError, match="a study ours already"):
        run("create_study", "ours")
    with pytest.raises(CommandError, match="cannot be opened: 6 human trials"):
        run("create_study", "other", "--recruitment", "open")
    assert not Study.objects.filter(slug="other").exists()


@pytest.mark.django_db
def test_a_study_is_not_opened_before_it_names_whom_participants_can_ask():
    ensure_items(("test", "catch", "practice"))
    Item.objects.update(is_demo=False)
    with pytest.raises(CommandError, match="ours cannot be opened: no contact"):
        run("create_study", "ours", "--collection", "any", "--recruitment", "pilot")
    data = run("create_study", "ours", "--collection", "any")
    assert data["problems"] == ["no contact: participants must know whom they can ask"]
    # Simulated participants ask no one
    simulated = run("simulate_participants", "ours", "--finish", "1", "--dropout", "0")
    assert simulated["flow"]["finished"] == 1


@pytest.mark.django_db
def test_a_bad_slug_is_refused_with_a_sentence():
    with pytest.raises(CommandError, match="slug"):
        run("create_study", "not a slug")
