"""The problems that an import names in incomplete or wrong copies, and that it then writes nothing."""

import json
import os
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from experiment.imports.read.brainbench import read_published
from experiment.imports.store.published import country_codes, import_published
from experiment.models import Item, Judgment, Participant, Study
from tests.experiment.imports.small_copy import (
    DATES,
    DOI,
    FULL,
    HUMAN,
    IDS,
    ITEM_COLUMNS,
    MACHINE,
    SECTION,
    TRIALS,
    SmallCopy,
    item,
    trial,
)
from tests.factories import make_participant, make_study
from tests.published import run_import

pytestmark = pytest.mark.django_db
WRITTEN = (Item, Study, Participant, Judgment)


@pytest.fixture
def copy(tmp_path: Path) -> SmallCopy:
    copy = SmallCopy(tmp_path / "copy")
    copy.write()
    return copy


def refusal(copy: SmallCopy, *options: str) -> list[str]:
    """The problems of an import that must be refused, with nothing written; printed in both forms."""
    out = StringIO()
    counts = [model.objects.count() for model in WRITTEN]
    with pytest.raises(CommandError) as caught:
        call_command("import_brainbench", str(copy.root), "--json", *options, stdout=out)
    assert caught.value.returncode == 1
    assert [model.objects.count() for model in WRITTEN] == counts
    report = json.loads(out.getvalue())
    texts = [problem["text"] for problem in report["problems"]]
    assert texts
    assert set(report["created"].values()) == {0}
    assert all(text in str(caught.value) for text in texts)
    return texts


def versions() -> dict[str, list[Any]]:
    """The versions of the first human-created item, and those that the study draws."""
    first = Item.objects.filter(key="brainbench-human-001")
    return {
        "all": list(first.values_list("version", "texts", "status")),
        "drawn": list(first.filter(studies__slug="brainbench").values_list("version", flat=True)),
    }


def test_a_small_copy_is_imported_and_items_added_later_join_the_study(copy: SmallCopy) -> None:
    report = run_import(copy.root)
    assert report["items"] == {"human": 3, "machine": 1}
    assert (report["participants"], report["trials"]) == (2, 3)
    assert report["excluded_before_publication"] == {"participants": 1, "trials": 15}
    assert Judgment.objects.get(trial__participant__published_id="8").trial.position == 2
    machine = Judgment.objects.get(trial__stratum="machine").trial.item
    assert (machine.doi, machine.generator) == ("10.1000/b", "GPT-4")
    assert str(machine.publication_date) == "2023-10-11"
    copy.human.append(item("d", "Late"))
    copy.dates.append("2024-2-29")
    copy.write()
    created = run_import(copy.root)["created"]
    assert (created["items"], created["pins"], created["trials"]) == (1, 1, 0)


def test_texts_can_be_repaired_after_an_import_as_published(copy: SmallCopy) -> None:
    copy.human[0][2:] = ["It no.", "It not now.", "It [[no, not now, yes, quite now]]."]
    copy.write()
    run_import(copy.root, "--texts", "as-published")
    published = (1, "as-published", "accepted")
    assert versions() == {"all": [published], "drawn": [1]}
    assert run_import(copy.root)["created"]["items"] == 1
    assert versions() == {"all": [published, (2, "repaired", "accepted")], "drawn": [2]}
    assert Item.objects.get(version=2).altered == "It yes, quite now."
    run_import(copy.root, "--texts", "as-published")
    assert versions()["drawn"] == [1]


def test_an_even_number_of_commas_needs_the_same_work_in_the_other_set(copy: SmallCopy) -> None:
    row = [SECTION, "It did.", "It but late.", "It [[did, but late, did not]]."]
    copy.human[0], copy.machine[0] = [DOI + "a", *row], [DOI + "b", *row]
    copy.human[1][2:] = ["It did, but late.", "It rose.", "It [[did, but late | rose]]."]
    copy.write()
    assert [
        (d["source"], d["repaired"], d["status"]) for d in run_import(copy.root)["damaged"]
    ] == [
        ("human", False, "draft"),
        ("machine", True, "accepted"),
    ]
    assert versions()["drawn"] == []
    assert Item.objects.get(source="machine", version=2).original == "It did, but late."


@pytest.mark.parametrize(("folder", "trials"), [("human_results", 0), ("data", 3)])
def test_an_absent_folder_is_reported_and_filled_in_when_it_comes(
    copy: SmallCopy, folder: str, trials: int
) -> None:
    (copy.root / folder).rename(copy.root.parent / folder)
    report = run_import(copy.root)
    # The small copy holds no models either
    assert report["absent"] == [f"{folder}/", "model_results/"]
    assert (report["trials"], report["items"]["human"], report["models"]) == (trials, 3, [])
    (copy.root.parent / folder).rename(copy.root / folder)
    assert run_import(copy.root)["trials"] == 3
    items = Item.objects.filter(key__startswith="brainbench-")
    assert (items.count(), items.filter(publication_date=None).count()) == (4, 0)


def test_trials_wait_for_the_items_they_are_about(copy: SmallCopy) -> None:
    (copy.root / MACHINE).unlink()
    report = run_import(copy.root)
    assert report["absent"] == [MACHINE, "model_results/"]
    assert (report["items"], report["trials"]) == ({"human": 3, "machine": 0}, 0)
    assert "trials were not imported" in report["notes"][-1]
    copy.write()
    assert run_import(copy.root)["created"]["trials"] == 3
    # Now the database has the items.
    (copy.root / MACHINE).unlink()
    assert run_import(copy.root, "--study", "another")["created"]["trials"] == 3


@pytest.mark.drifts  # makes people simulated who were not
def test_a_study_with_participants_of_its_own_is_not_added_to(copy: SmallCopy) -> None:
    study = make_study("ours")
    make_participant(study)
    assert "this study has participants" in refusal(copy, "--study", "ours")[0]
    study.participants.update(kind="simulated")
    assert run_import(copy.root, "--study", "ours")["created"]["trials"] > 0
    make_participant(study, judged=0)  # one who came since
    assert run_import(copy.root, "--study", "ours")["created"]["trials"] == 0


def test_many_items_take_no_more_queries_than_few(tmp_path: Path) -> None:
    queries = []
    damaged = [SECTION, "Ions rose.", "Ions as expected.", "Ions [[rose, as expected, fell, as expected]]."]  # fmt: skip
    for n in (8, 30):  # each in one INSERT, also where a statement takes few values
        copy = SmallCopy(tmp_path / str(n))
        for name in (HUMAN, MACHINE):
            rows = [item(f"{name}.{k}", f"Word {k}") for k in range(n // 2 - 1)]
            copy.write_csv(name, [ITEM_COLUMNS, [f"{DOI}{name}", *damaged], *rows])
        data = read_published(copy.root, country_codes())
        assert not data.problems
        assert sum(item.damage is not None for item in data.items) == 2
        with transaction.atomic():
            for created in (n + 2, 0):  # the damaged ones in two versions
                with CaptureQueriesContext(connection) as asked:
                    done = import_published(data, "many", Item.Texts.REPAIRED)
                assert done.created.items == created
                queries.append(len(asked))
            transaction.set_rollback(True)
    assert queries[:2] == queries[2:]


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        (HUMAN, b"combined_abstract", b"other", ["line 1: lacks the column combined_abstract"]),
        (HUMAN, b"Growth rose.", b'"Growth rose.', ["line ", "CSV"]),
        (TRIALS, b"Male", b"\xff\xfe", ["line 2: "]),
        (TRIALS, b"Male", b"\x00", ["line 2: "]),
    ],
)
def test_bytes_that_are_no_such_file_are_named_by_line(
    copy: SmallCopy, name: str, old: bytes, new: bytes, words: list[str]
) -> None:
    copy.replace(name, old, new)
    assert any(text.startswith(name) and all(w in text for w in words) for text in refusal(copy))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("confidence", "101"), ("rt", "9" * 30), ("correct", "yes"), ("recognised", "")),
        *(("pid", "nan"), ("", "-1"), ("abstract_id", "4.0"), ("sex", "Robot")),
        *(("country", "Atlantis"), ("age", "old"), ("experience", "1e3")),
        *(("current position", "Emperor"), ("journal_section", "alien_Systems/Circuits")),
    ],
)
def test_a_cell_that_cannot_be_read_is_named_by_file_row_and_column(
    copy: SmallCopy, column: str, value: str
) -> None:
    copy.trials[2][column] = value
    copy.write()
    (text,) = refusal(copy)
    assert text.startswith(f"{TRIALS}, line 4, row 2, column “{column}”: “{value}”")


Edit = Callable[[SmallCopy], Any]
EDITS: list[tuple[Edit, int, list[str]]] = [
    (
        lambda c: c.human[1].pop(),
        2,
        [f"{HUMAN}, line 3, row 1: has 4 cells, but the header has 5"],
    ),
    (lambda c: c.human[1].__setitem__(1, "A\x0fB"), 1, ["column “journal_section”", "U+000F"]),
    (
        lambda c: c.trials.__setitem__(1, trial(2, 7, 3, "machine")),
        1,
        [f"{TRIALS}, line 3, row 1", "10.1000/c is not among the machine test cases"],
    ),
    (
        lambda c: c.trials.extend([trial(20, 8, 1), trial(21, 8, 3, age="41"), trial(1, 8, 2)]),
        4,
        [
            f"{TRIALS}, line 5, row 3",
            "in line 4 already",
            "column “age”: “41” differs from the same participant's line 4",
            "is outside the 9 rows of participant 8",
        ],
    ),
    (
        lambda c: (c.human.append(item("A", "Again")), c.dates.append("2023-1-1")),
        1,
        [f"{HUMAN}, line 5, row 3, column “doi”: “10.1000/A” is already in line 2"],
    ),
    (  # the known fault of a missing bracket does not explain it
        lambda c: c.human[2].__setitem__(4, "Sleep [[rose, fell."),
        1,
        [f"{HUMAN}, line 4, row 2, column “combined_abstract”: line 1, column 7"],
    ),
    (lambda c: c.dates.pop(), 1, ["has 2 dates for the 3 rows"]),
    (
        lambda c: (c.ids.__setitem__(0, "not a doi;1;text"), c.ids.append(f"{DOI}c;3;text")),
        4,
        [f"{IDS}, line 2, row 0, column “DOI”: “not a doi” is not a DOI", f"{IDS}, line 5, row 3"],
    ),
    (  # all problems are told together
        lambda c: (
            c.human[0].__setitem__(0, "nowhere"),
            c.trials[0].update(rt="soon"),
            c.trials[2].update(sex="?"),
            c.dates.__setitem__(1, "2023-13-1"),
        ),
        4,
        [f"{DATES}, row 1: “2023-13-1” is not a date"],
    ),
]


@pytest.mark.parametrize(("edit", "n", "words"), EDITS)
def test_rows_that_cannot_be_are_named_by_file_and_row(
    copy: SmallCopy, edit: Edit, n: int, words: list[str]
) -> None:
    edit(copy)
    copy.write()
    texts = refusal(copy)
    assert len(texts) == n, texts
    assert all(word in " ".join(texts) for word in words), texts


def test_an_invalid_directory_study_or_array_is_refused(copy: SmallCopy) -> None:
    assert refusal(copy, "--study", "no name")[0].startswith("study no name: ")
    (copy.root / DATES).write_bytes(b"PK\x03\x04")  # half an archive
    assert DATES in " ".join(refusal(copy))
    # What is pickled is never opened
    np.save(copy.path(DATES), np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert refusal(copy)[0].startswith(f"{DATES}: cannot be read")
    for folder in ("testcases", "human_results", "data"):
        shutil.rmtree(copy.root / folder)
    assert "does not contain any of the published files" in refusal(copy)[0]
    copy.root /= "nowhere"
    assert refusal(copy) == [f"{copy.root}: is not a directory"]


def test_differences_from_an_earlier_import_are_named(copy: SmallCopy) -> None:
    run_import(copy.root)
    copy.trials[2]["correct"] = "1"
    copy.write()
    assert refusal(copy) == [
        f"{TRIALS}, line 4, row 2, column “pid”: participant 8 was imported before with other trials or answers"
    ]
    copy.human[0], copy.human[1] = item("z", "Firing"), item("b", "Shrinking")
    copy.ids[0] = f"{DOI}z;1;text"
    copy.write()
    said = " ".join(refusal(copy))
    assert f"{HUMAN}, line 2, row 0, column “doi”: the database has" in said
    assert f"{HUMAN}, line 3, row 1" in said
    assert "another text" in said


def test_a_failure_at_the_last_step_leaves_nothing_behind(
    copy: SmallCopy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("experiment.imports.store.published.pin_published", fail)
    with pytest.raises(RuntimeError):
        run_import(copy.root)
    assert not any(model.objects.exists() for model in WRITTEN)


@pytest.mark.parametrize("name", [HUMAN, FULL, "human_results"])
def test_a_link_out_of_the_copy_is_refused_by_its_name_and_one_within_is_followed(
    copy: SmallCopy, name: str
) -> None:
    copy.write_models()
    (copy.root / name).replace(copy.root.parent / "outside")
    (copy.root / name).symlink_to(copy.root.parent / "outside")
    assert f"{name}: is a link out of" in " ".join(refusal(copy))
    (copy.root.parent / "outside").replace(copy.root / "stored")
    (copy.root / name).unlink()
    (copy.root / name).symlink_to(copy.root / "stored")
    (copy.root.parent / "linked").symlink_to(copy.root)
    assert run_import(copy.root.parent / "linked")["items"]["human"] == 3


def test_a_folder_pipe_or_broken_link_is_not_taken_for_an_absent_file(copy: SmallCopy) -> None:
    copy.write_models()
    for name, make, said in (
        (HUMAN, Path.mkdir, "is a folder, not a file"),
        (IDS, os.mkfifo, "is not a regular file"),
        (FULL, lambda path: path.symlink_to("nothing"), "is a broken link"),
    ):
        (copy.root / name).unlink()
        make(copy.root / name)
        assert f"{name}: {said}" in " ".join(refusal(copy))


def test_a_folder_of_answers_without_participants_is_refused(copy: SmallCopy) -> None:
    said = f"{copy.root}/human_results/: does not contain participants: "
    whole = (copy.root / TRIALS).read_bytes()
    (copy.root / TRIALS).write_bytes(whole.splitlines(keepends=True)[0])
    assert f"{said}{TRIALS} does not have any rows" in refusal(copy)[0]
    (copy.root / TRIALS).unlink()
    assert f"{said}there is no {TRIALS}. " in refusal(copy)[0]
    (copy.root / TRIALS).write_bytes(whole)
    (copy.root / IDS).unlink()
    assert f"{said}there is no {IDS}. " in refusal(copy)[0]
