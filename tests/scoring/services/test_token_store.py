"""Token-level records: what is written is read back, whole or not at all, and only of what was asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from scoring.domain.conditions import MarkedText
from scoring.domain.encoding import encode
from scoring.domain.prompts import Prompt
from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from scoring.services.token_store import TokenRecord
from tests.factories import make_study
from tests.scoring.made_runs import ask, scores
from tests.scoring.ngram_backend import NgramBackend
from tests.storages import part_path, records_folder, store_files_in


def record(item: str | None, unit: int, text: str, version: str = "original") -> TokenRecord:
    model = NgramBackend()
    marked = MarkedText(text, ((0, len(text.split()[0])),))
    encoded = encode(model.tokenizer, Prompt.of("clean"), marked)
    logprobs = model.logprobs("", encoded.ids)
    assert not isinstance(logprobs, Exception)
    return TokenRecord(item, 1 if item else None, unit, version, encoded, logprobs)


def write_part(run: ScoringRun, batch_index: int, records: Sequence[TokenRecord]) -> Path:
    with token_store.staged_part(run, batch_index, records) as publish:
        publish()
    return part_path(run, batch_index)


@pytest.fixture
def run() -> ScoringRun:
    return ScoringRun()  # only its uuid counts here


RECORDS = (
    record("a", 0, "The response rose."),
    record("a", 0, "The response fell.", "altered"),
    record("a", 2, "It was late."),
    record("b", 0, "Über “quotes” and μ-opioids."),
)


def test_every_token_is_read_back_as_it_was(run: ScoringRun) -> None:
    write_part(run, 0, RECORDS[:3])
    write_part(run, 1, RECORDS[3:])
    table = token_store.read_tokens(run)
    assert table.schema == token_store.SCHEMA
    rows = table.to_pylist()
    assert len(rows) == sum(len(r.encoded.ids) for r in RECORDS)
    at = 0
    for written in RECORDS:
        encoded = written.encoded
        mine = rows[at : at + len(encoded.ids)]
        at += len(encoded.ids)
        assert {row["run"] for row in mine} == {str(run.uuid)}
        assert {(row["item"], row["unit"], row["version"]) for row in mine} == {
            (written.item, written.unit, written.version)
        }
        assert [row["position"] for row in mine] == list(range(len(mine)))
        assert [row["token_id"] for row in mine] == encoded.ids.tolist()
        assert [row["token"] for row in mine] == list(encoded.pieces)
        assert [[row["start"], row["end"]] for row in mine] == encoded.spans.tolist()
        assert [row["in_text"] for row in mine] == encoded.in_text.tolist()
        assert [row["in_alternation"] for row in mine] == encoded.in_alternation.tolist()
        assert mine[0]["logprob"] is None
        # To the last bit
        assert [row["logprob"] for row in mine[1:]] == written.logprobs[1:].tolist()


def test_an_item_and_a_unit_can_be_read_alone(run: ScoringRun) -> None:
    write_part(run, 0, RECORDS)
    of_a = token_store.read_tokens(run, "a").to_pylist()
    assert {(row["unit"], row["version"]) for row in of_a} == {
        (0, "original"),
        (0, "altered"),
        (2, "original"),
    }
    assert {row["unit"] for row in token_store.read_tokens(run, "a", 2).to_pylist()} == {2}
    assert token_store.read_tokens(run, "c").num_rows == 0


def test_a_corpus_text_has_no_item(run: ScoringRun) -> None:
    write_part(run, 0, [record(None, 7, "It was late.", "text")])
    rows = token_store.read_tokens(run, unit=7).to_pylist()
    assert {(row["item"], row["item_version"], row["version"]) for row in rows} == {
        (None, None, "text")
    }


def names(run: ScoringRun) -> list[str]:
    return sorted(path.name for path in records_folder(run).iterdir())


def test_an_unpublished_part_leaves_nothing(run: ScoringRun) -> None:
    with token_store.staged_part(run, 0, RECORDS):
        assert not part_path(run, 0).exists()
    assert names(run) == []
    with pytest.raises(ZeroDivisionError), token_store.staged_part(run, 0, RECORDS):
        raise ZeroDivisionError
    assert names(run) == []


def test_a_damaged_file_is_named(run: ScoringRun) -> None:
    path = write_part(run, 0, RECORDS[:1])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(token_store.DamagedRecordError, match=r"part-00000\.parquet"):
        token_store.read_tokens(run)


@pytest.mark.django_db
def test_a_run_in_a_bucket_is_resumed_and_removed_like_any(bucket: Any, settings: Any) -> None:
    def keys() -> list[str]:
        return sorted(entry.key for entry in bucket.objects.all())

    store_files_in(settings, "s3://records/lab")
    run = execute(ask(make_study()), backend=NgramBackend(), max_pairs=4)
    n_parts = len(keys())
    assert keys()[0] == f"lab/scoring/{run.uuid}/part-00000.parquet"
    assert n_parts == len(token_store.part_indices(run)) > 0
    run = execute(run, backend=NgramBackend())
    assert run.status == "finished"
    assert len(scores(run)) == len(set(token_store.read_tokens(run).column("item").to_pylist())) > 0
    assert len(keys()) == len(run.plan) > n_parts
    token_store.delete_run(run)
    assert keys() == []
