"""An import of models' results names directories that are incomplete or wrong, and then writes nothing."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from experiment.models import Item, Judgment, Study
from scoring.models import (
    CorpusScore,
    ItemScore,
    LanguageModel,
    ModelSet,
    ModelSetMember,
    ScoringRun,
)
from tests.experiment.imports.small_copy import (
    ANCHOR,
    CHAT,
    FULL,
    ISOLATED,
    LABELS,
    LENGTHS,
    MACHINE,
    MASK,
    SmallCopy,
)
from tests.factories import make_study

pytestmark = pytest.mark.django_db

CHAT_NAME = "meta-llama/Llama-2-7b-chat-hf"
TABLES = (Item, Study, Judgment, LanguageModel, ModelSet, ScoringRun, ItemScore, CorpusScore)


@pytest.fixture
def copy(tmp_path):
    copy = SmallCopy(tmp_path)
    copy.write()
    copy.write_models()
    return copy


def run_import(copy, *options):
    out = StringIO()
    call_command("import_brainbench", str(copy.root), "--json", *options, stdout=out)
    return json.loads(out.getvalue())


def counts() -> list[int]:
    return [model.objects.count() for model in TABLES]


def refusal(copy, *options) -> list[str]:
    """The problems of an import that must be refused, with nothing written."""
    out, before = StringIO(), counts()
    with pytest.raises(CommandError) as caught:
        call_command("import_brainbench", str(copy.root), "--json", *options, stdout=out)
    assert counts() == before
    report = json.loads(out.getvalue())
    assert set(report["created"].values()) == {0}
    texts = [problem["text"] for problem in report["problems"]]
    assert texts
    assert all(text in str(caught.value) for text in texts)
    return texts


def scores(condition: str, source: str = "human", seed: int | None = None) -> list[tuple]:
    rows = ItemScore.objects.filter(
        run__language_model__name=CHAT_NAME,
        run__condition=condition,
        run__source=source,
        run__seed=seed,
    )
    return list(
        rows.order_by("item__key", "unit").values_list(
            "item__key", "unit", "original_side", "ppl_original", "ppl_altered"
        )
    )


def test_a_small_copy_is_imported(copy):
    report = run_import(copy)
    keys = [f"brainbench-human-00{n}" for n in (1, 2, 3)]
    assert scores("full") == [
        (keys[0], 0, "A", 9, 10),
        (keys[1], 0, "B", 11, 12),
        (keys[2], 0, "A", 8, 8),
    ]
    assert scores("isolated") == [
        (keys[0], 0, "A", 2, 3),
        (keys[0], 1, "B", 4, 5),
        (keys[1], 0, "B", 7, 6),
        (keys[2], 0, "A", 3, 2),
        (keys[2], 1, "A", 1.5, 2.5),
    ]
    assert scores("swapped", seed=1234) == scores("swapped", seed=42)
    assert scores("full", "machine") == [("brainbench-machine-001", 0, "B", 30, 20)]
    lengths = ItemScore.objects.filter(run__condition="full", item__key=keys[1])
    assert set(lengths.values_list("zlib_original_bytes", "zlib_altered_bytes")) == {
        (104, 103),
        (None, None),
    }
    assert list(CorpusScore.objects.filter(run__corpus="letters").values_list()) != []
    assert CorpusScore.objects.get(run__is_anchor=True).zlib_bytes == 700
    assert report["runs"] == {"full": 3, "isolated": 1, "swapped": 2, "corpus": 2}
    # Its base partner has a row, and no results
    assert report["created"]["models"] == 3
    assert report["created"]["scores"] == ItemScore.objects.count() + 3 == 3 + 5 + 6 + 1 + 3 + 3


def test_a_model_that_is_not_among_the_published_is_an_extra_with_a_short_name(copy):
    report = run_import(copy)
    other = LanguageModel.objects.get(name="org/other")
    assert (other.display_name, other.family, other.n_parameters) == ("other", "", None)
    assert [model["is_of_paper"] for model in report["models"]] == [True, False]
    members = ModelSetMember.objects.values_list("language_model__name", "position")
    assert list(members) == [(CHAT_NAME, 9)]


def test_a_second_import_writes_nothing(copy):
    first, before = run_import(copy), counts()
    again = run_import(copy)
    assert set(again["created"].values()) == {0}
    assert again | {"created": None} == first | {"created": None}
    assert counts() == before


def test_results_wait_for_the_items_they_are_about(copy):
    (copy.root / MACHINE).unlink()
    report = run_import(copy)
    assert f"The models' results on {MACHINE} were not imported" in report["notes"][-1]
    assert not ScoringRun.objects.filter(source="machine").exists()
    copy.write()
    created = run_import(copy)["created"]
    assert (created["runs"], created["scores"], created["trials"]) == (1, 1, 3)


def test_a_file_that_changed_since_is_refused_until_the_run_is_deleted(copy):
    run_import(copy)
    run = ScoringRun.objects.get(
        language_model__name=CHAT_NAME, condition="full", source="human", corpus=""
    )
    anchor = ScoringRun.objects.get(is_anchor=True)
    copy.arrays[FULL][0] = [10.0, 9.0]
    copy.arrays[ANCHOR][0] = 1.5
    copy.write_models()
    message = "differs from run {}, which was imported before. Delete that run to import this file"
    assert refusal(copy) == [
        f"{FULL}: {message.format(run.pk)}",
        f"{ANCHOR}: {message.format(anchor.pk)}",
    ]
    run.delete()
    anchor.delete()
    assert run_import(copy)["created"]["runs"] == 2
    assert scores("full")[0][3:] == (10, 9)


def test_an_import_leaves_model_sets_as_people_changed_them(copy):
    run_import(copy)
    ModelSetMember.objects.all().delete()
    run_import(copy)
    assert not ModelSetMember.objects.exists()
    study = make_study("ours")
    ModelSet.objects.create(study=study, name="our models")
    report = run_import(copy, "--study", "ours")
    assert any("“our models”, which was not changed" in note for note in report["notes"])
    assert not study.model_set.members.exists()


@pytest.mark.parametrize(
    ("file", "array", "said"),
    [
        (FULL, np.ones((3, 3)), "has the shape (3, 3), not (n, 2)"),
        (FULL, np.ones((0, 2)), "has 0 rows"),
        (FULL, np.ones((3, 2), dtype=np.int64), "contains int64, not perplexities"),
        (LABELS, np.zeros(3), "contains float64, not whole numbers"),
        (LABELS, np.zeros(2, dtype=np.int64), f"has 2 rows, but {FULL} has 3"),
        (LENGTHS, np.ones((4, 2), dtype=np.int64), f"has 4 rows, but {FULL} has 3"),
        (MASK, np.zeros(4, dtype=np.int64), f"has 4 rows, but {ISOLATED} has 5"),
        (ANCHOR, np.ones(2), ""),
    ],
)
def test_an_array_that_cannot_be_meant_is_named_by_its_file(copy, file, array, said):
    np.save(copy.path(file), array)
    (text,) = refusal(copy)
    if file == ANCHOR:
        file = file if said else f"{CHAT}/gettysburg_address/ZLIB.npy"
    assert text.startswith(f"{file}: {said}")


@pytest.mark.parametrize(
    ("file", "row", "value", "said"),
    [
        (FULL, 1, [np.nan, 2.0], "nan is not a perplexity"),
        (FULL, 0, [1.5, 0.0], "0.0 is not a perplexity"),
        (LABELS, 1, 2, "2 is not 0 (A is the original) or 1 (B)"),
        (LENGTHS, 2, [0, 3], "0 is not a length in bytes"),
        (MASK, 4, 3, "is about test case 4 of the 3 human-created ones"),
        (ANCHOR, 0, np.nan, "nan is not a perplexity"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named_by_file_and_row(copy, file, row, value, said):
    copy.arrays[file][row] = value
    copy.write_models()
    assert refusal(copy) == [f"{file}, row {row}: {said}"]


@pytest.mark.parametrize("n_bytes", [0, 60, -1])
def test_a_file_that_was_cut_short_is_named(copy, n_bytes):
    data = copy.path(FULL).read_bytes()
    copy.path(FULL).write_bytes(data[:n_bytes])
    (text,) = refusal(copy)
    assert text.startswith(f"{FULL}: cannot be read")


def test_all_problems_are_named_together_with_those_of_items(copy):
    copy.arrays[FULL][0] = np.nan
    copy.arrays[LABELS][2] = 7
    copy.human[0][0] = "nowhere"
    copy.write()
    copy.write_models()
    assert [text.partition(",")[0] for text in refusal(copy)] == [
        "testcases/BrainBench_Human_v0.1.csv",
        FULL,
        LABELS,
    ]


def test_a_failure_at_the_last_step_leaves_nothing_behind(copy, monkeypatch):
    def fail(*args):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("scoring.imports.store.runs.place_in_set", fail)
    with pytest.raises(RuntimeError):
        run_import(copy)
    assert counts() == [0] * len(TABLES)
