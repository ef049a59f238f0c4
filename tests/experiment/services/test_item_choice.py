"""A study takes the test cases that it names, says so, and asks for no trials that they do not allow."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from experiment.models import Item, Study
from experiment.services.fields import create_field
from experiment.services.item_choice import ItemChoice, choose_items
from tests.experiment import people
from tests.experiment.lab_client import run, run_json
from tests.factories import make_item, make_study

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def create(*arguments: str) -> dict[str, Any]:
    return run_json("create_study", "ours", *arguments)


def keys_of(study: Study) -> set[str]:
    return set(study.items.filter(kind="test").values_list("key", flat=True))


@pytest.fixture(autouse=True)
def items() -> None:
    """BrainBench: seven human-created test cases in two subfields, and four machine-created; three of ecology."""
    published = {"collection": "brainbench", "field": "neuroscience"}
    for n in range(7):
        subfield = "Systems" if n < 4 else "Cellular"
        make_item(f"h-{n}", doi=f"10.1/h{n}", subfield=subfield, **published)
    for n in range(4):
        make_item(f"m-{n}", source="machine", doi=f"10.1/m{n}", **published)
    for n in range(3):
        make_item(f"eco-{n}", doi=f"10.1/e{n}", field="ecology", subfield="Forests")


def test_a_brainbench_preset_takes_brainbench_alone_and_says_what_it_left_out() -> None:
    data = create("--preset", "brainbench-strict")
    assert data["items"] == {"human": 7, "machine": 4, "catch": 6, "practice": 1}
    assert data["subfields"] == {"Systems": 4, "Cellular": 3, "Behavioural/Cognitive": 4}
    assert data["left_out"] == 3
    assert data["trials"] == {"human": 6, "machine": 3, "catch": 2}
    assert Study.objects.get().policy == "paper"


@pytest.mark.parametrize(
    ("options", "keys", "trials"),
    [
        (("--source", "human"), {f"h-{n}" for n in range(7)}, {"human": 6, "machine": 0}),
        (("--subfields", "Systems"), {f"h-{n}" for n in range(4)}, {"human": 4, "machine": 0}),
        (
            ("--collection", "any", "--field", "ecology"),
            {"eco-0", "eco-1", "eco-2"},
            {"human": 3, "machine": 0},
        ),
        (("--items", "m-1", "h-2", "m-3"), {"m-1", "m-3", "h-2"}, {"human": 1, "machine": 2}),
    ],
)
def test_counts_per_stratum_follow_what_was_chosen(
    options: tuple[str, ...], keys: set[str], trials: dict[str, int]
) -> None:
    data = create(*options, "--contact", "lab@example.org", "--recruitment", "pilot")
    study = Study.objects.get()
    assert keys_of(study) == keys
    assert study.trial_counts == {**trials, "catch": 2}
    assert data["problems"] == []


def test_a_field_is_named_by_its_short_name_as_in_other_commands() -> None:
    field = create_field("Soil ecology", 1, None)
    make_item("soil-1", field=field.name)
    data = create("--collection", "any", "--field", field.slug)
    assert (field.slug, data["items"]["human"]) == ("soil-ecology", 1)
    assert Study.objects.get().field == "Soil ecology"


def test_a_field_that_all_share_is_the_studys_and_of_several_none_is() -> None:
    for choice, field in (
        (("--field", "ecology"), "ecology"),
        (("--items", "eco-0"), "ecology"),
        ((), ""),
    ):
        create("--collection", "any", *choice)
        study = Study.objects.get()
        assert (study.field, "BrainBench" in study.title) == (field, False)
        study.delete()


def test_a_list_names_every_line_that_cannot_be_taken(tmp_path: Path) -> None:
    make_item("draft", status="draft", collection="brainbench")
    path = tmp_path / "keys.txt"
    path.write_text("h-1\n\n# ours\nnowhere\ndraft  # soon\neco-1\n", encoding="utf-8")
    with pytest.raises(CommandError) as error:
        create("--items-file", str(path))
    said = str(error.value)
    assert "line 4 of keys.txt: there is no accepted test case “nowhere” that you may use." in said
    assert "line 5 of keys.txt: there is no accepted test case “draft” that you may use." in said
    assert "line 6 of keys.txt: “eco-1” does not match collection brainbench." in said
    assert "h-1" not in said
    assert not Study.objects.exists()


def test_a_list_takes_its_own_catch_and_practice_items_and_may_take_demo_material(
    tmp_path: Path,
) -> None:
    make_item("our-catch", kind="catch")
    make_item("our-practice", kind="practice")
    make_item("shown", collection="brainbench", is_demo=True)
    path = tmp_path / "keys.txt"
    path.write_text("our-catch\nour-practice\nshown\nh-1\n", encoding="utf-8-sig")
    data = create("--items-file", str(path))
    assert data["items"] == {"human": 2, "catch": 1, "practice": 1}
    assert data["trials"] == {"human": 2, "machine": 0, "catch": 1}


def test_an_empty_choice_and_an_unreadable_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No accepted test case"):
        create("--field", "ecology")
    with pytest.raises(CommandError, match="No such file"):
        create("--items-file", str(tmp_path / "nowhere.txt"))
    (tmp_path / "empty.txt").write_text("# nothing\n")
    with pytest.raises(CommandError, match="does not list any test cases"):
        create("--items-file", str(tmp_path / "empty.txt"))
    assert not Study.objects.exists()


def test_without_any_test_case_the_study_waits_for_them() -> None:
    Item.objects.all().delete()
    data = create()
    assert data["trials"] == {"human": 6, "machine": 3, "catch": 2}
    assert data["problems"][0].startswith(
        "each participant judges 6 human-created test cases, but only 0 "
    )


def test_a_text_that_waits_for_its_repair_is_counted_by_itself() -> None:
    make_item("damaged", texts="as-published", collection="brainbench")
    make_item("damaged", version=2, texts="repaired", status="draft", collection="brainbench")
    data = create()
    assert "damaged" not in keys_of(Study.objects.get())
    assert (data["left_out"], data["waiting"]) == (3, 1)


def test_the_newest_accepted_version_is_taken() -> None:
    make_item("h-1", version=2, collection="brainbench")
    make_item("h-1", version=3, collection="brainbench", status="draft")
    create("--items", "h-1")
    assert Study.objects.get().items.get(kind="test").version == 2


def test_a_command_chooses_again_and_asks_for_the_reason_once_the_study_runs() -> None:
    create("--contact", "lab@example.org", "--recruitment", "open")
    study = Study.objects.get()
    people.enroll(study)
    asked = ("choose_items", "ours", "--source", "human")
    chosen = (*asked, "--collection", "brainbench")
    for wrong, said in (
        (chosen, "Give a reason"),
        ((*asked, "--reason", "x"), "--collection"),  # nothing joins silently
        ((*chosen, "--subfields", "Nowhere", "--reason", "x"), "No accepted test case"),
    ):
        with pytest.raises(CommandError, match=said):
            run(*wrong)
    assert keys_of(study) >= {"m-0"}
    data = run_json(*chosen, "--reason", "Machines later.")
    assert (data["version"], data["trials"]) == (2, {"human": 6, "machine": 0, "catch": 2})
    assert keys_of(study) == {f"h-{n}" for n in range(7)}
    assert study.versions.get(number=2).reason == "Machines later."


def test_no_choice_leaves_a_study_without_test_cases() -> None:
    create("--collection", "any", "--field", "ecology")
    Item.objects.filter(collection="brainbench").delete()
    for asked in (("--collection", "brainbench"), ("--collection", "any", "--items", "catch-x")):
        make_item("catch-x", kind="catch")
        with pytest.raises(CommandError, match="No accepted test case"):
            run("choose_items", "ours", *asked)
        Item.objects.filter(key="catch-x").delete()
        assert keys_of(Study.objects.get()) == {"eco-0", "eco-1", "eco-2"}


@pytest.mark.parametrize(
    ("field", "after"),
    [("neuroscience", "ecology"), ("", "ecology"), ("forestry", "forestry")],
)
def test_the_field_comes_with_the_first_test_cases_where_none_was_chosen(
    field: str, after: str
) -> None:
    study = make_study(field=field)
    choose_items(study, ItemChoice(field="ecology"))
    assert Study.objects.get().field == after
