"""The command `score_corpus`: reference texts beside the test cases, read again from their file when a run goes on."""

import csv
import json
import shutil
import zlib
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from experiment.models import Study
from scoring.models import CorpusScore, ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from tests.factories import FILLER, make_study
from tests.scoring.commands import hf
from tests.scoring.commands import score_json as score_study
from tests.sheets import ods
from tests.storages import records_folder

pytestmark = pytest.mark.django_db
TEXTS = [
    "It was late.",
    FILLER,
    "The response rose, and “fell” again, in μ-opioid neurons.",
    "In study memory the measure was reliable.",
    "The sample was large. " * 12,
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "prose.jsonl"
    rows = [{"id": f"t{n}", "text": text} for n, text in enumerate(TEXTS, start=1)]
    path.write_text("".join(f"{json.dumps(row)}\n\n" for row in rows))
    return path


def score(path: Path, tiny: Path, *arguments: object) -> tuple[str, CommandError | None]:
    """Standard output of the command, and the error that it ended with."""
    out, error = StringIO(), None
    model = ("--model", "hf", "--model_args", f"pretrained={tiny}")
    try:
        call_command(
            "score_corpus", str(path), *model, *map(str, arguments), stdout=out, stderr=StringIO()
        )
    except CommandError as raised:
        error = raised
    return out.getvalue(), error


def score_json(path: Path, tiny: Path, *arguments: object) -> dict[str, Any]:
    out, error = score(path, tiny, *arguments, "--json")
    assert error is None, error
    return json.loads(out)


def test_ratios_are_those_of_the_stored_rows(corpus: Path, tiny: Path) -> None:
    data = score_json(corpus, tiny)
    rows = list(CorpusScore.objects.order_by("row"))
    assert [(row.row, row.text_id) for row in rows] == [(n, f"t{n}") for n in range(1, 6)]
    assert [row.zlib_bytes for row in rows] == [len(zlib.compress(t.encode())) for t in TEXTS]
    for row in rows:
        assert row.ppl == np.exp(row.nll_nats / row.tokens)
    ratios = [row.zlib_bytes / row.ppl for row in rows]
    q1, median, q3 = np.quantile(ratios, [0.25, 0.5, 0.75])
    assert data["ratio"] == {"n": 5, "q1": q1, "median": median, "q3": q3}
    run = ScoringRun.objects.get()
    assert (run.corpus, run.prompt, run.is_anchor, run.study) == ("prose", "none", False, None)
    assert (data["corpus"], data["anchor"], data["run"]) == ("prose", False, run.pk)


def test_token_records_of_a_row_spell_its_text(corpus: Path, tiny: Path) -> None:
    score_json(corpus, tiny)
    rows = token_store.read_tokens(ScoringRun.objects.get(), unit=4).to_pylist()
    assert {row["version"] for row in rows} == {"text"}
    assert "".join(row["token"] for row in rows).replace("Ġ", " ") == TEXTS[3]


def test_a_csv_file_gives_the_same(corpus: Path, tiny: Path, tmp_path: Path) -> None:
    path = tmp_path / "prose.csv"
    with path.open("w", newline="", encoding="utf-16") as file:  # Excel's “Unicode text”
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["Name", "Abstract"])
        writer.writerows([f"t{n}", text] for n, text in enumerate(TEXTS, start=1))
    columns = ("--text_column", "abstract", "--id_column", "name")
    from_csv, from_jsonl = score_json(path, tiny, *columns), score_json(corpus, tiny)
    assert from_csv["ratio"] == from_jsonl["ratio"]
    assert set(CorpusScore.objects.values_list("text_id", flat=True)) == {
        f"t{n}" for n in range(1, 6)
    }


def test_a_corpus_stands_beside_the_items_and_the_anchor(
    corpus: Path, tiny: Path, tmp_path: Path
) -> None:
    study: Study = make_study(human=3, machine=1)
    before = score_json(corpus, tiny, "--study", "memory")
    assert (before["study"], before["anchors"]) == (None, [])
    score_study(*hf(tiny, "--prompt", "none"))
    score_study(*hf(tiny))  # newer, but with a prompt
    anchor = tmp_path / "anchor.jsonl"
    anchor.write_text(json.dumps({"text": "The sample was large. " * 30}))
    alone = score_json(anchor, tiny, "--anchor", "--name", "by heart")
    assert (alone["anchor"], alone["corpus"]) == (True, "by heart")
    data = score_json(corpus, tiny, "--study", "memory")
    assert data["study"]["study"] == study.slug
    assert data["study"]["prompt"] == "none"
    items = ScoringRun.objects.get(pk=data["study"]["run"]).item_scores.all()
    ratios = [score.zlib_original_bytes / score.ppl_original for score in items]
    assert data["study"]["ratio"]["median"] == pytest.approx(float(np.median(ratios)))
    (beside,) = data["anchors"]
    assert (beside["corpus"], beside["ratio"]["median"]) == ("by heart", alone["ratio"]["median"])
    out, _ = score(corpus, tiny, "--study", "memory")
    assert "corpus prose: median" in out
    assert "study memory (run" in out
    assert "anchor by heart (run" in out


def test_zlib_lengths_are_of_what_the_perplexity_counts(tiny: Path) -> None:
    study = make_study(human=1, machine=0)
    score_study(*hf(tiny, "--prompt", "paper"))
    score_study(*hf(tiny, "--prompt", "clean"))
    text = study.items.get(kind="test").altered
    paper, clean = ScoringRun.objects.order_by("pk")
    with_prompt = paper.prompt_text.replace("<choice abstract>", text)
    assert paper.item_scores.get().zlib_altered_bytes == len(zlib.compress(with_prompt.encode()))
    assert clean.item_scores.get().zlib_altered_bytes == len(zlib.compress(text.encode()))


def test_a_waiting_run_reads_its_file_again_and_notices_a_change(corpus: Path, tiny: Path) -> None:
    score_json(corpus, tiny)
    run = ScoringRun.objects.get()
    run.corpus_scores.all().delete()
    shutil.rmtree(records_folder(run))
    ScoringRun.objects.update(status="waiting", done=0)
    assert execute(run).status == "finished"
    ScoringRun.objects.update(status="waiting")
    corpus.write_text(corpus.read_text().replace("late", "early"))
    run = execute(run)
    assert run.status == "failed"
    assert run.error == f"{corpus} has changed since the run began. Start a new run."


def test_a_run_whose_file_has_moved_is_resumed(corpus: Path, tiny: Path) -> None:
    score_json(corpus, tiny)
    ScoringRun.objects.update(status="waiting")
    moved = corpus.with_name("moved.jsonl")
    corpus.rename(moved)
    score_json(moved, tiny, "--name", "prose", "--resume")
    run = ScoringRun.objects.get()
    assert (run.status, run.corpus_file["path"]) == ("finished", str(moved))


def test_a_row_that_cannot_be_scored_is_named_and_the_rest_stored(
    tiny: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mixed.jsonl"
    rows = [{"text": "It was late."}, {"id": "nil", "text": " "}, {"text": "q" * 5000}]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    out, error = score(path, tiny)
    assert str(error) == (
        "row 2 (nil) could not be scored (is empty), nor could 1 more; the rest is stored."
    )
    assert "not scored: row 3: needs" in out
    assert list(CorpusScore.objects.values_list("row", flat=True)) == [1]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', "a.jsonl, line 2: this is not JSON"),
        ("a.jsonl", b'{"body": "x"}\n', "a.jsonl, line 1: no text in “text” (columns: body)"),
        ("a.jsonl", b'{"text": "\\ud800"}\n', "a.jsonl, line 1: half a character"),
        ("a.jsonl", b'{"text": "x"}\n\xff\xfe\n', "a.jsonl, line 2: this is not UTF-8"),
        ("a.jsonl", b"\n\n", "a.jsonl does not contain any text"),
        ("a.csv", b"id,body\n1,fine\n", "a.csv, line 2: no text in “text” (columns: id, body)"),
        ("a.csv", b'id,text\n1,"open\n', "a.csv, line 2: cannot be read as CSV"),
        ("a.tsv", b"text\nfine\tx\n", "a.tsv, line 2: has 2 cells, but the header has 1"),
        ("a.ods", ods({"S": [(), ("id", "body"), (1, "x")]}), "a.ods, sheet “S”, row 3: no text"),
        ("a.txt", b"x", "a.txt is neither a .jsonl nor a .csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_place(
    tiny: Path, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    _, error = score(path, tiny)
    assert sentence in str(error)
    assert len(str(error).splitlines()) == 1
    assert not ScoringRun.objects.exists()
