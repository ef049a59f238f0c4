"""Tests of export.py and of the command that calls it."""

import csv
import hashlib
import io
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from experiment.domain.codebook import TRIAL_COLUMNS
from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Study
from experiment.services import export as trials_export
from experiment.services import trial_fields
from experiment.services.study_setup import pin_items
from experiment.services.study_versions import revise
from experiment.services.trial_fields import HEADER
from experiment.services.version_comparison import compare_versions
from lib.csv import cell, field, fields, line
from lib.snapshot import snapshot
from tests.experiment import people
from tests.experiment.services.plain_export import plain_csv
from tests.factories import NOW, make_item, make_participant, make_study

pytestmark = pytest.mark.django_db


def export(
    study: Study, *arguments: str, path: Path, set_name: str = "all"
) -> list[dict[str, str]]:
    call_command(
        "export_trials",
        study.slug,
        "--set",
        set_name,
        "--output",
        str(path),
        *arguments,
        stdout=io.StringIO(),
    )
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trials.csv"


def test_every_judged_trial_is_one_row_with_the_codebooks_columns(study: Study, path: Path) -> None:
    make_participant(study)
    make_participant(study, judged=3)
    rows = export(study, path=path)
    assert len(rows) == 11 + 3
    assert list(rows[0]) == [column.name for column in TRIAL_COLUMNS]
    assert [row["position"] for row in rows] == [str(n) for n in (*range(1, 12), 1, 2, 3)]


def test_cells_say_what_was_stored(study: Study, path: Path) -> None:
    participant = make_participant(study, external_id="5f3a", comments="Fine, thanks.")
    row = export(study, path=path)[0]
    expected = {
        "study": "memory",
        "participant": str(participant.public_id),
        "kind": "real",
        "stage": "finished",
        "stratum": "human",
        "item_version": "1",
        "item_source": "human",
        "original_side": "B",
        "side": "B",
        "correct": "true",
        "confidence": "70",
        "recognised": "false",
        "rt_ms": "75250",
        "server_ms": "76000",
        "viewport_width": "1280",
        "gender": "female",
        "position_held": "faculty",
        "experience_years": "9.5",
        "external_id": "5f3a",
        "consent_version": "1",
        "consent_sha256": participant.consent_hash,
        "consented_at": "2026-03-02T09:30:00+00:00",
        "finished_at": "2026-03-02T10:00:00+00:00",
        "cheated": "false",
        "comments": "Fine, thanks.",
        "seed": str(participant.seed),
        "publication_date": "",
        "included": "true",
        "excluded_by": "",
    }
    assert {name: row[name] for name in expected} == expected
    assert row["text"].endswith("the response [[rose, fell]] after training.")


def test_cells_hold_what_the_codebook_allows(study: Study, path: Path) -> None:
    make_participant(study)
    make_participant(study, judged=2, judgment={"confidence": None, "rt_ms": None})
    for row in export(study, path=path):
        for column in TRIAL_COLUMNS:
            value = row[column.name]
            assert value or column.null, column.name
            if value and column.levels:
                assert value in column.levels
            if value and column.type == "integer":
                int(value)
            if column.type == "boolean":
                assert value in ("true", "false", "")


@pytest.mark.drifts  # writes judgments itself
def test_a_passage_with_a_comma_is_written_with_a_pipe(study: Study, path: Path) -> None:
    make_participant(study)
    item = make_item("thousands", markup="It was [[1,000 | 2,000]] cells, not [[few, many]].")
    trial = study.participants.get().trials.first()
    trial.item = item
    trial.save()
    assert (
        export(study, path=path)[0]["text"] == "It was [[1,000 | 2,000]] cells, not [[few, many]]."
    )


def test_the_analysis_holds_exactly_the_included_trials(study: Study, path: Path) -> None:
    make_participant(study)
    make_participant(study, excluded_by="missed_catch admitted_cheating")
    recognised = make_participant(study)
    Judgment.objects.filter(trial__participant=recognised, trial__position=2).update(
        excluded_by="recognised too_fast"
    )
    make_participant(study, judged=4)
    everything = export(study, path=path)
    analysis = export(study, path=path, set_name="analysis")
    assert analysis == [row for row in everything if row["included"] == "true"]
    assert len(analysis) == 9 + 8
    assert {row["stratum"] for row in analysis} == {"human", "machine"}
    reasons = {row["excluded_by"] for row in everything}
    assert reasons == {
        "",
        "catch_trial",
        "missed_catch admitted_cheating",
        "missed_catch admitted_cheating catch_trial",
        "recognised too_fast",
        "not_finished",
    }
    assert all((row["included"] == "true") == (row["excluded_by"] == "") for row in everything)
    counts = trials_export.row_counts(study, "real")
    assert counts == {"all": len(everything), "analysis": len(analysis)}


def test_rows_are_counted_without_reading_those_of_settled_participants(
    study: Study, path: Path
) -> None:
    study.recruitment = "open"
    study.save()
    make_participant(study)
    people.answer(people.start(study), until=4)
    make_participant(study, kind="simulated")
    with CaptureQueriesContext(connection) as seen:
        assert trials_export.row_counts(study, "real") == {"all": 11 + 4, "analysis": 9}
    assert len(export(study, path=path)) == 15
    counters, under_way, judged = (query["sql"] for query in seen.captured_queries)
    assert "experiment_judgment" not in counters
    assert "left_at" in under_way
    assert "IN (" in judged  # of named participants, of whom there are few


def test_one_kind_is_exported_and_real_by_default(study: Study, path: Path) -> None:
    make_participant(study)
    make_participant(study, kind="simulated")
    assert {row["kind"] for row in export(study, path=path)} == {"real"}
    named = path.with_name("simulated-trials.csv")
    assert {row["kind"] for row in export(study, "--kind", "simulated", path=named)} == {
        "simulated"
    }


@pytest.mark.parametrize("asked", [(), ("--kind", "real"), ("--kind", "imported")])
def test_simulated_people_never_stand_in_for_others(
    study: Study, path: Path, asked: tuple[str, ...]
) -> None:
    make_participant(study, kind="simulated")
    with pytest.raises(CommandError, match=r"no (real|imported) participants.* 1 simulated"):
        call_command("export_trials", study.slug, "--set", "all", "--output", str(path), *asked)
    assert not path.exists()


@pytest.mark.parametrize("has_own", [True, False])
def test_published_people_who_join_a_study_are_exported_with_their_own(
    study: Study, path: Path, has_own: bool
) -> None:
    make_participant(study, kind="imported")
    other = make_study("other")
    pin_items(other, study.items.all())
    if has_own:
        make_participant(other)
    with pytest.raises(CommandError, match=rf"published elsewhere.* exported with {study.slug}\."):
        export(other, "--kind", "imported", path=path)
    assert not path.exists()
    assert len(export(study, "--kind", "imported", path=path)) == 11


def test_a_file_of_simulated_trials_says_so_in_its_name_and_what_is_said_too(
    study: Study, path: Path
) -> None:
    make_participant(study, kind="simulated")
    asked = ("export_trials", study.slug, "--set", "all", "--kind", "simulated", "--output")
    with pytest.raises(CommandError, match=r"simulated-trials\.csv"):
        call_command(*asked, str(path))
    assert not path.exists()
    out = io.StringIO()
    call_command(*asked, str(path.with_name("Simulated.csv")), stdout=out)
    assert "11 trials of 1 simulated participants" in out.getvalue()
    assert "no real participants" in out.getvalue()


def test_json_names_the_file_and_its_hash(study: Study, path: Path) -> None:
    make_participant(study)
    out = io.StringIO()
    call_command(
        "export_trials",
        study.slug,
        "--set",
        "analysis",
        "--output",
        str(path),
        "--json",
        stdout=out,
    )
    assert json.loads(out.getvalue()) == {
        "study": "memory",
        "kind": "real",
        "set": "analysis",
        "rules_version": None,
        "rows": 9,
        "participants": 1,
        "file": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " \n =1", "\u00a0=1", "\uff1d1", "\ttab"],
)
def test_a_text_that_a_spreadsheet_would_run_is_defused(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["a,b", 'a"b', "a\nb", "a\rb", "a\r\nb", "", " a", "plain"])
def test_a_field_is_read_back_as_its_text(text: str) -> None:
    stream = io.StringIO(line([field(text), field(text)]).decode(), newline="")
    assert list(csv.reader(stream)) == [[text, text]]


@pytest.mark.parametrize(
    "column",
    [
        [None, 3, -1, 3, None],
        [True, None, False],
        ["=1", "a,b", None, "=1"],
        [NOW, None, NOW + timedelta(days=150, microseconds=5)],
        [NOW.date(), None],
        [1.5, None, -0.5],
        [None, None],
        [],
    ],
)
def test_a_column_is_written_as_its_values_are(column: list[Any]) -> None:
    with timezone.override("America/St_Johns"):
        assert list(fields(column)) == [field(value) for value in column]


@pytest.mark.parametrize("text", ["a=1", "'=1", "1-2", "", " plain", "(=1)"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert cell(text) == text


def test_numbers_are_never_defused() -> None:
    assert [cell(value) for value in (-5, -0.5, True, None)] == ["-5", "-0.5", "true", ""]


def test_formulas_in_what_participants_send_are_defused(study: Study, path: Path) -> None:
    make_participant(
        study, external_id="=cmd|'/c calc'!A1", comments=' \t=HYPERLINK("x")\nand "more", too'
    )
    row = export(study, path=path)[0]
    assert row["external_id"] == "'=cmd|'/c calc'!A1"
    assert row["comments"] == '\' \t=HYPERLINK("x")\nand "more", too'


def test_a_failed_export_leaves_the_file_as_it_was(
    study: Study, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_participant(study)
    path.write_text("yesterday's export")
    blocks = trials_export.trial_blocks

    def failing(*arguments):
        yield from blocks(*arguments)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trials_export, "trial_blocks", failing)
    with pytest.raises(CommandError, match="No space left"):
        export(study, path=path)
    assert path.read_text() == "yesterday's export"
    assert os.listdir(path.parent) == ["trials.csv"]


def test_the_file_keeps_its_permissions_and_a_link_stays_a_link(study: Study, path: Path) -> None:
    make_participant(study)
    target = path.parent / "target.csv"
    target.touch(mode=0o640)
    target.chmod(0o640)
    path.symlink_to(target)
    assert len(export(study, path=path)) == 11
    assert path.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640


def test_standard_output_gets_the_rows_and_nothing_else(
    study: Study, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    make_participant(study, comments="naïve")
    call_command("export_trials", study.slug, "--set", "all", "--output", "-")
    captured = capsysbinary.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out.decode())))
    assert len(rows) == 11
    assert rows[0]["comments"] == "naïve"
    assert b"11 trials" in captured.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere", "--output", "x.csv"), "There is no study “nowhere”."),
        (("memory", "--output", "-", "--json"), "name a file"),
        (("memory", "--output", "."), "not a file"),
        (("memory", "--output", "no/such/folder/x.csv"), "No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    study: Study, arguments: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("export_trials", "--set", "all", *arguments)


@pytest.mark.parametrize("rows_in_a_block", [1, 4, 11, 2_000])
def test_participants_are_counted_once(
    study: Study, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials_export, "ROWS", rows_in_a_block)
    make_participant(study)
    make_participant(study, judged=0)
    make_participant(study, judged=3)
    made = trials_export.export_trials(study, "real", "all", io.BytesIO())
    assert (made.rows, made.participants) == (14, 2)


def test_an_empty_export_is_a_header(study: Study, path: Path) -> None:
    assert export(study, path=path) == []
    assert path.read_text().startswith("study,participant,kind")


def test_the_number_of_queries_does_not_grow_with_the_rows(
    study: Study, django_assert_num_queries
) -> None:
    for _ in range(2):
        for _ in range(3):
            make_participant(study)
        expected = 11 * study.participants.count()
        with django_assert_num_queries(3):  # trials, participants, items
            assert len(cells_of(study, "text")) == expected


def cells_of(study: Study, *columns: str) -> list[tuple[str, ...]]:
    """These columns of all trials, read as an export does."""
    places = [HEADER.index(name) for name in columns]
    blocks = trials_export.trial_blocks(study, "real", "all")
    return [tuple(row[place] for place in places) for block in blocks for row in block]


@pytest.mark.drifts  # writes judgments itself
@pytest.mark.django_db(transaction=True)
def test_an_export_is_of_one_moment(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others change while rows are being read is not in the file: neither new rows nor new values."""
    for _ in range(3):
        make_participant(study)
    monkeypatch.setattr(trials_export, "ROWS", 7)
    names = ("comments", "trial_excluded_by", "item_key")
    before = cells_of(study, *names)
    seen = []
    other = connection.copy()
    with snapshot():
        for block in trials_export.trial_blocks(study, "real", "all"):
            if not seen:
                with other.cursor() as cursor:
                    cursor.execute("UPDATE experiment_participant SET comments = 'later'")
                    cursor.execute("UPDATE experiment_judgment SET excluded_by = 'too_fast'")
                    cursor.execute("UPDATE experiment_item SET generator = 'Eve'")
            seen += [tuple(row[HEADER.index(name)] for name in names) for row in block]
        # What is read a second time is of the same moment
        again = cells_of(study, *names)
    other.close()
    assert len(seen) == 33
    assert seen == again == before
    assert {comments for (comments,) in cells_of(study, "comments")} == {"later"}
    assert connections["default"].in_atomic_block is False


AWKWARD = ["", "=1+1", 'a "b", c', "line\nline\r\n", "\u00b5 \u2028 \U0001f642", " ,"]


@pytest.mark.drifts  # writes judgments itself
@pytest.mark.parametrize("rows_in_a_block", [1, 7, 2_000])
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_the_bytes_are_those_of_writing_each_cell_by_itself(
    path: Path, rows_in_a_block: int, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(ethics_body="Board, of ethics", ethics_number="=7")
    monkeypatch.setattr(trials_export, "ROWS", rows_in_a_block)
    monkeypatch.setattr(trial_fields, "ITEMS_KEPT", 5)
    for n, text in enumerate(AWKWARD):
        make_participant(
            study,
            comments=text,
            external_id=text,
            excluded_by="missed_catch" if n == 1 else "",
            flags="fast_page" if n == 2 else "",
            judged=n if n > 3 else None,
            demographics={"country": text, "age": 30 + n, "experience_years": 2.5},
            consent_version=None if n == 5 else study.consent,
            finished_at=None if n > 3 else NOW + timedelta(days=60 * n, microseconds=7 * n),
            judgment={"rt_ms": 5_000 * n, "confidence": n or None, "flags": "hidden" * (n % 2)},
        )
    Judgment.objects.filter(trial__position=3).update(excluded_by="recognised", recognised=True)
    Judgment.objects.filter(trial__position=2).update(received_at=None, rt_ms=None, side="")
    study.items.filter(key__endswith="2").update(subfield='Mice, "men"', generator="@who")
    with timezone.override(zone):
        export(study, path=path)
        assert path.read_bytes() == plain_csv(study, "real")


def frozen_study(**fields: str) -> tuple[Study, str]:
    """A study under two versions of its rules, with two finishers; the second answered in 60 s as people.finish does."""
    study = make_study(recruitment="open", **fields)
    first = people.finish(study)
    make_participant(study, judgment={"rt_ms": 300_000})
    revise(study, rules=Rules(min_rt_ms=90_000), reason="Nobody reads so fast.")
    return study, str(first.public_id)


@pytest.mark.parametrize("rows_in_a_block", [4, 2_000])
def test_an_export_follows_the_version_of_the_rules_that_is_asked_for(
    path: Path, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials_export, "ROWS", rows_in_a_block)
    study, fast = frozen_study()
    now = export(study, path=path)
    assert {row["rules_version"] for row in now} == {"2"}
    assert {row["trial_excluded_by"] for row in now if row["participant"] == fast} == {
        "too_fast",
        "too_fast catch_trial",
    }
    then = export(study, "--rules", "1", path=path)
    assert {row["rules_version"] for row in then} == {"1"}
    assert sum(row["included"] == "true" for row in then) == 18
    analysed = export(study, "--rules", "1", path=path, set_name="analysis")
    assert analysed == [row for row in then if row["included"] == "true"]
    assert export(study, "--rules", "2", path=path) == now
    assert len(export(study, path=path, set_name="analysis")) == 9


def test_rules_that_never_held_are_refused(path: Path) -> None:
    study, _ = frozen_study()
    with pytest.raises(CommandError, match="no version 7 of its rules, but 1, 2"):
        export(study, "--rules", "7", path=path)
    with pytest.raises(CommandError, match="no versions of its rules yet"):
        export(make_study("young"), "--rules", "1", path=path)
    make_participant(study, kind="imported")
    with pytest.raises(CommandError, match="Imported participants keep"):
        export(study, "--rules", "1", "--kind", "imported", path=path)
    assert not path.exists()
    assert {row["rules_version"] for row in export(study, "--kind", "imported", path=path)} == {""}


def test_the_ethics_approval_is_in_every_row(path: Path) -> None:
    approval = {"ethics_number": "AB/7", "ethics_body": "A board", "ethics_contact": "a@b.org"}
    study, _ = frozen_study(**approval)
    for row in export(study, path=path):
        assert {name: row[name] for name in approval} == approval


def test_two_versions_are_compared_by_what_they_leave_out(path: Path) -> None:
    study, fast = frozen_study()
    out = io.StringIO()
    call_command("study_versions", study.slug, "--compare", "1", "2", "--json", stdout=out)
    found = json.loads(out.getvalue())
    assert found["rules"] == [{"rule": "min_rt_ms", "before": 5_000, "after": 90_000}]
    assert found["participants"] == []
    assert len(found["trials"]) == 9
    assert {(t["participant"], t["before"], t["after"]) for t in found["trials"]} == {
        (fast, "", "too_fast")
    }
    outcomes = found["before"], found["after"]
    assert [(o["participants"], o["trials"], o["accuracy"]) for o in outcomes] == [
        (2, 18, 1.0),
        (2, 9, 1.0),
    ]
    # What is counted is what is exported
    for number, outcome in zip((1, 2), outcomes, strict=True):
        rows = export(study, "--rules", str(number), path=path, set_name="analysis")
        assert len(rows) == outcome["trials"]


def test_a_comparison_names_participants_and_test_cases_that_changed() -> None:
    study = make_study(recruitment="open")
    person = people.finish(study)
    judgments = Judgment.objects.filter(trial__participant=person)
    judgments.update(expertise_moved=False)
    extra = make_item("extra")
    revise(
        study,
        rules=Rules(untouched_sliders="either"),
        items=[*study.items.all(), extra],
        reason="The other reading.",
    )
    found = compare_versions(study, "real", 1, 2)
    assert [(p.participant, p.before, p.after) for p in found.participants] == [
        (str(person.public_id), "", "untouched_sliders")
    ]
    assert (list(found.items_added), list(found.items_removed)) == (["extra v1"], [])
    assert found.trials == []
    assert (found.before.trials, found.after.trials, found.after.accuracy) == (9, 0, None)
    back = compare_versions(study, "real", 2, 1)
    assert (back.before, back.after) == (found.after, found.before)


def test_versions_are_listed_with_who_when_and_why() -> None:
    study, _ = frozen_study()
    out = io.StringIO()
    call_command("study_versions", study.slug, stdout=out)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert "first real participant" in lines[1]
    assert "Nobody reads so fast." in lines[2]
    out = io.StringIO()
    call_command("study_versions", make_study("young").slug, stdout=out)
    assert "no versions yet" in out.getvalue()
