"""What an import says about directories that are incomplete or wrong, and that it then writes nothing."""

import json
from io import StringIO
from shutil import rmtree

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from experiment.models import Item, Judgment, Participant, Study
from tests.experiment.imports.small_copy import (
    DATES,
    DOI,
    HUMAN,
    IDS,
    MACHINE,
    SECTION,
    TRIALS,
    SmallCopy,
    item,
    trial,
)
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def copy(tmp_path):
    copy = SmallCopy(tmp_path)
    copy.write()
    return copy


def run_import(copy, *options):
    out = StringIO()
    call_command("import_brainbench", str(copy.root), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def refusal(copy, *options) -> list[str]:
    """The problems of an import that must be refused, with nothing written; printed in both forms."""
    out = StringIO()
    counts = [model.objects.count() for model in (Item, Study, Participant, Judgment)]
    with pytest.raises(CommandError) as caught:
        call_command("import_brainbench", str(copy.root), "--json", *options, stdout=out)
    assert caught.value.returncode == 1
    assert [model.objects.count() for model in (Item, Study, Participant, Judgment)] == counts
    report = json.loads(out.getvalue())
    texts = [problem["text"] for problem in report["problems"]]
    assert texts
    assert set(report["created"].values()) == {0}
    assert all(text in str(caught.value) for text in texts)
    return texts


def test_a_small_copy_is_imported(copy):
    report = run_import(copy)
    assert report["items"] == {"human": 3, "machine": 1}
    assert (report["participants"], report["trials"]) == (2, 3)
    assert report["excluded_before_publication"] == {"participants": 1, "trials": 15}
    assert Judgment.objects.get(trial__participant__published_id="8").trial.position == 2
    machine = Judgment.objects.get(trial__stratum="machine").trial.item
    assert (machine.doi, machine.generator, str(machine.publication_date)) == (
        "10.1000/b",
        "GPT-4",
        "2023-10-11",
    )


def test_the_summary_for_people_names_what_was_done(copy):
    copy.human[0] = [
        *copy.human[0][:2],
        "It rose.",
        "It fell] early they [[fell.",
        "It [[rose, fell] early they [[fell, rose]].",
    ]
    copy.write()
    out = StringIO()
    call_command("import_brainbench", str(copy.root), stdout=out)
    draft = Item.objects.get(key="brainbench-human-001", version=2)
    assert (
        f"correct and accept version 2 at /lab/fields/neuroscience/items/{draft.pk}/"
        in out.getvalue()
    )
    assert "2 participants with 3 trials" in out.getvalue()
    assert draft.markup == "It [[rose, fell]] early they [[fell, rose]]."


def versions() -> dict[str, list[tuple]]:
    """Of the first human-created item: its versions, and which of them the study draws."""
    first = Item.objects.filter(key="brainbench-human-001")
    return {
        "all": list(first.values_list("version", "texts", "status")),
        "drawn": list(first.filter(studies__slug="brainbench").values_list("version", flat=True)),
    }


def test_texts_can_be_repaired_after_an_import_as_published(copy):
    copy.human[0] = [
        DOI + "a",
        SECTION,
        "It no.",
        "It not now.",
        "It [[no, not now, yes, quite now]].",
    ]
    copy.write()
    run_import(copy, "--texts", "as-published")
    published = (1, "as-published", "accepted")
    assert versions() == {"all": [published], "drawn": [1]}
    assert run_import(copy)["created"]["items"] == 1
    assert versions() == {"all": [published, (2, "repaired", "accepted")], "drawn": [2]}
    assert Item.objects.get(version=2).altered == "It yes, quite now."
    run_import(copy, "--texts", "as-published")
    assert versions()["drawn"] == [1]


def test_an_even_number_of_commas_needs_the_same_work_in_the_other_set(copy):
    row = [SECTION, "It did.", "It but late.", "It [[did, but late, did not]]."]
    copy.human[0], copy.machine[0] = [DOI + "a", *row], [DOI + "b", *row]
    counterpart = [SECTION, "It did, but late.", "It rose.", "It [[did, but late | rose]]."]
    copy.human[1] = [DOI + "b", *counterpart]
    copy.write()
    damaged = run_import(copy)["damaged"]
    assert [(d["source"], d["repaired"], d["status"]) for d in damaged] == [
        ("human", False, "draft"),
        ("machine", True, "accepted"),
    ]
    assert versions()["drawn"] == []
    assert Item.objects.get(source="machine", version=2).original == "It did, but late."


@pytest.mark.parametrize(
    ("folder", "absent", "trials"), [("human_results", "human_results/", 0), ("data", "data/", 3)]
)
def test_an_absent_folder_is_reported_and_not_fatal(copy, folder, absent, trials):
    rmtree(copy.root / folder)
    report = run_import(copy)
    # The small copy holds no models either
    assert report["absent"] == [absent, "model_results/"]
    assert (report["trials"], report["items"]["human"], report["models"]) == (trials, 3, [])


def test_dates_that_come_later_are_filled_in(copy):
    (copy.root / DATES).rename(copy.root / "other.npy")
    run_import(copy)
    assert Item.objects.filter(key__startswith="brainbench-", publication_date=None).count() == 4
    (copy.root / "other.npy").rename(copy.root / DATES)
    run_import(copy)
    assert not Item.objects.filter(key__startswith="brainbench-", publication_date=None).exists()


def test_trials_wait_for_the_items_they_are_about(copy):
    (copy.root / MACHINE).unlink()
    report = run_import(copy)
    assert (report["absent"], report["items"], report["trials"]) == (
        [MACHINE, "model_results/"],
        {"human": 3, "machine": 0},
        0,
    )
    assert "trials were not imported" in report["notes"][-1]
    copy.write()
    assert run_import(copy)["created"]["trials"] == 3
    # Now the database has the items.
    (copy.root / MACHINE).unlink()
    assert run_import(copy, "--study", "another")["created"]["trials"] == 3


def test_a_directory_with_nothing_known_is_refused(copy):
    for folder in ("testcases", "human_results", "data"):
        rmtree(copy.root / folder)
    assert "holds none of the published files" in refusal(copy)[0]


def test_a_path_that_is_no_directory_is_refused(copy):
    copy.root /= "nowhere"
    assert refusal(copy) == [f"{copy.root}: is not a directory"]


@pytest.mark.drifts  # makes people simulated who were not
def test_a_study_with_participants_of_its_own_is_not_added_to(copy):
    study = make_study("ours")
    make_participant(study)
    assert "participants of its own" in refusal(copy, "--study", "ours")[0]
    study.participants.update(kind="simulated")
    assert run_import(copy, "--study", "ours")["created"]["trials"] > 0


def test_a_published_study_that_took_participants_since_can_be_imported_again(copy):
    run_import(copy)
    make_participant(Study.objects.get(slug="brainbench"), judged=0)
    assert run_import(copy)["created"]["trials"] == 0


def test_a_name_that_no_study_can_have_is_refused(copy):
    assert refusal(copy, "--study", "no name")[0].startswith("study no name: ")


def test_a_missing_column_is_named(copy):
    copy.replace(HUMAN, b"combined_abstract", b"combined")
    assert f"{HUMAN}, line 1: lacks the column combined_abstract" in refusal(copy)


def test_a_row_with_too_few_cells_is_named(copy):
    copy.human[1] = copy.human[1][:3]
    copy.write()
    assert f"{HUMAN}, line 3, row 1: has 3 cells where the header has 5" in refusal(copy)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\x00"])
def test_bytes_that_are_no_text_are_named_by_line(copy, data):
    copy.replace(TRIALS, b"Male", data)
    (text,) = refusal(copy)
    assert text.startswith(f"{TRIALS}, line 2: ")


def test_a_quotation_that_never_ends_is_named(copy):
    copy.replace(HUMAN, b"Growth rose.", b'"Growth rose.')
    assert any(text.startswith(f"{HUMAN}, line ") and "CSV" in text for text in refusal(copy))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("confidence", "101"),
        ("expertise", "0"),
        ("rt", "5.5"),
        ("rt", "9" * 30),
        ("correct", "yes"),
        ("recognised", ""),
        ("click_slider", "2"),
        ("click_outside", "perhaps"),
        ("pid", "nan"),
        ("", "-1"),
        ("abstract_id", "4.0"),
        ("journal_section", "alien_Systems/Circuits"),
        ("sex", "Robot"),
        ("country", "Atlantis"),
        ("current position", "Emperor"),
        ("age", "old"),
        ("experience", "1e3"),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_by_file_row_and_column(copy, column, value):
    copy.trials[2][column] = value
    copy.write()
    texts = refusal(copy)
    where = f"{TRIALS}, line 4, row 2, column “{column}”: “{value}”"
    assert len(texts) == 1
    assert texts[0].startswith(where)


def test_a_section_that_is_more_than_one_line_is_named(copy):
    copy.human[1][1] = "Systems\x0fCircuits"
    copy.write()
    (text,) = refusal(copy)
    assert "column “journal_section”" in text
    assert "U+000F" in text


def test_a_trial_about_an_unknown_work_is_named(copy):
    copy.trials[1] = trial(2, 7, 3, "machine")
    copy.write()
    (text,) = refusal(copy)
    assert text.startswith(f"{TRIALS}, line 3, row 1")
    assert "10.1000/c is not among the machine test cases" in text


def test_a_work_judged_twice_by_one_participant_is_named(copy):
    copy.trials.append(trial(20, 8, 1))
    copy.write()
    (text,) = refusal(copy)
    assert text.startswith(f"{TRIALS}, line 5, row 3")
    assert "in line 4 already" in text


def test_rows_of_one_participant_that_disagree_are_named(copy):
    copy.trials.append(trial(21, 8, 3, age="41"))
    copy.trials.append(trial(1, 8, 2))
    copy.write()
    texts = refusal(copy)
    assert (
        f"{TRIALS}, line 5, row 3, column “age”: “41” differs from the same participant's line 4"
        in texts
    )
    assert any("is outside the 9 rows of participant 8" in text for text in texts)


def test_the_same_work_twice_in_a_file_is_named(copy):
    copy.human.append(item("A", "Again"))
    copy.dates.append("2023-1-1")
    copy.write()
    assert f"{HUMAN}, line 5, row 3, column “doi”: “10.1000/A” stands in line 2 already" in refusal(
        copy
    )


def test_markup_that_the_known_fault_does_not_explain_is_named(copy):
    copy.human[2] = [DOI + "c", SECTION, "Sleep rose.", "Sleep fell.", "Sleep [[rose, fell."]
    copy.write()
    (text,) = refusal(copy)
    assert text.startswith(f"{HUMAN}, line 4, row 2, column “combined_abstract”: line 1, column 7")


def test_dates_that_are_no_dates_or_too_few_are_named(copy):
    copy.dates[1] = "2023-13-1"
    copy.write()
    assert refusal(copy) == [f"{DATES}, row 1: “2023-13-1” is not a date"]
    copy.dates = copy.dates[:1]
    copy.write()
    assert "has 1 dates for the 3 rows" in refusal(copy)[0]


def test_half_an_archive_is_no_array(copy):
    copy.write().joinpath(DATES).write_bytes(b"PK\x03\x04")
    assert DATES in " ".join(refusal(copy))


def test_a_pickled_array_is_never_opened(copy):
    np.save(copy.path(DATES), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert refusal(copy)[0].startswith(f"{DATES}: cannot be read")


def test_ids_that_cannot_be_read_are_named(copy):
    copy.ids[0] = "not a doi;1;text"
    copy.ids.append(f"{DOI}c;3;text")
    copy.write()
    texts = refusal(copy)
    assert f"{IDS}, line 2, row 0, column “DOI”: “not a doi” is not a DOI" in texts
    assert any(text.startswith(f"{IDS}, line 5, row 3") for text in texts)


def test_all_problems_are_told_together(copy):
    copy.human[0][0] = "nowhere"
    copy.trials[0]["rt"] = "soon"
    copy.trials[2]["sex"] = "?"
    copy.dates[2] = "?"
    copy.write()
    assert len(refusal(copy)) == 4


def test_items_that_differ_from_an_earlier_import_are_named(copy):
    run_import(copy)
    copy.human[0] = item("z", "Firing")
    copy.human[1] = item("b", "Shrinking")
    copy.ids[0] = f"{DOI}z;1;text"
    copy.write()
    texts = refusal(copy)
    assert any(
        text.startswith(f"{HUMAN}, line 2, row 0, column “doi”: the database has") for text in texts
    )
    assert any(
        text.startswith(f"{HUMAN}, line 3, row 1") and "another text" in text for text in texts
    )


def test_trials_that_differ_from_an_earlier_import_are_named(copy):
    run_import(copy)
    copy.trials[2]["correct"] = "1"
    copy.write()
    assert refusal(copy) == [
        f"{TRIALS}, line 4, row 2, column “pid”: participant 8 was imported before with other trials or answers"
    ]


def test_items_added_later_join_the_study(copy):
    run_import(copy)
    copy.human.append(item("d", "Late"))
    copy.dates.append("2024-2-29")
    copy.write()
    created = run_import(copy)["created"]
    assert (created["items"], created["pins"], created["trials"]) == (1, 1, 0)


def test_a_failure_at_the_last_step_leaves_nothing_behind(copy, monkeypatch):
    def fail(*args):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("experiment.imports.store.published.pin_published", fail)
    with pytest.raises(RuntimeError):
        run_import(copy)
    assert not any(m.objects.exists() for m in (Item, Study, Participant, Judgment))
