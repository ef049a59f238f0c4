"""The records that a file of test cases gives, and the problems of one that cannot be read."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiment.imports.read.items import Defaults, read_items
from experiment.imports.read.records import Unnamed
from experiment.imports.read.rows import read_content

TEXT = "Rats [[slept, ran]] more."


def problems(data: str | bytes) -> list[tuple[int | None, str | None, str]]:
    found = read_items(data if isinstance(data, bytes) else data.encode())
    return [(p.row, p.column, p.message) for p in found.problems]


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16"])
def test_a_table_is_read_as_a_spreadsheet_writes_it(coding):
    """The marks that separate cells: tests/lib/test_tables.py."""
    rows = ["sep=;", 'key;markup;"Sub-Field ";n', 'a-1;"Rats [[slept | ran]]\nmore.";Sleep', ";;"]
    file = read_items("\r\n".join(rows).encode(coding))
    assert not file.problems
    (record,) = file.records
    assert (record.key, record.subfield, record.row) == ("a-1", "Sleep", 1)
    assert (record.altered, record.line) == ("Rats ran\nmore.", 3)


def test_json_lines_say_the_same_as_a_table():
    line = b'{"key": "a-1", "markup": "Rats [[slept, ran]] more.", "doi": null, "version": 2}\n\n'
    (record,) = read_items(line).records
    (same,) = read_items(f'key,markup,doi,version\na-1,"{TEXT}",,2\n'.encode()).records
    assert (record.line, same.line) == (1, 2)
    assert [getattr(record, n) for n in ("key", "markup", "doi", "version", "given")] == [
        getattr(same, n) for n in ("key", "markup", "doi", "version", "given")
    ]


def test_two_versions_do_in_place_of_markup():
    data = b"original,altered\nRats slept more.,Rats ran more.\n"
    (record,) = read_items(data, Defaults("machine", "GPT-4")).records
    assert (record.markup, record.source, record.generator) == (TEXT, "machine", "GPT-4")


NAÏVE = "The na\u00efve rats in M\u00fcnchen slept longer after 3\u00a0hours of training."


@pytest.mark.parametrize(
    ("typed", "sign"),
    [
        (("\u00ef", "i\u0308"), "U+0308 COMBINING DIAERESIS"),
        (("\u00a0", " "), "U+00A0 NO-BREAK SPACE"),
        (("a", "\u0430"), "U+0430 CYRILLIC SMALL LETTER A"),
        (("rats ", "rats  "), "number of spaces"),
    ],
)
def test_characters_that_look_the_same_in_both_versions_are_merged_and_named(
    typed: tuple[str, str], sign: str
) -> None:
    altered = NAÏVE.replace("longer", "shorter").replace(*typed)
    (record,) = read_items(as_csv({"original": NAÏVE, "altered": altered})).records
    assert record.markup == NAÏVE.replace("longer", "[[longer, shorter]]")
    (said,) = record.read_as
    assert sign in said


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"original": NAÏVE, "altered": NAÏVE.replace("\u00ef", "i\u0308")}, "altered"),
        ({"markup": '"They [[r\u00e9duit, re\u0301duit]] it and [[rose, fell]]."'}, "markup"),
    ],
)
def test_versions_that_look_the_same_are_refused_with_the_sign_and_the_place(
    row: dict[str, str], column: str
) -> None:
    ((number, where, message),) = problems(as_csv(row))
    assert (number, where) == (1, column)
    assert "U+030" in message
    assert "character 7" in message or "alternation 1" in message


def test_the_same_text_typed_otherwise_is_in_the_file_twice() -> None:
    rows = ('"Na\u00efve rats [[slept, ran]]."', '"Nai\u0308ve rats [[slept, ran]]."')
    ((row, _, message),) = problems("\n".join(("markup", *rows)))
    assert (row, message) == (2, "the same text is already in row 1")


def test_a_pair_in_single_brackets_is_refused_with_what_to_write() -> None:
    ((_, _, message),) = problems('markup\n"Sleep [reduced, increased] errors [12, 13]."')
    assert "write “[[reduced, increased]]” in place of “[reduced, increased]”" in message


HUB = {
    "doi": "10.1234/x",
    "journal_section": "Behavioral/Cognitive",
    "original_abstract": "Kelp increased and urchins became rarer.",
    "incorrect_abstract": "Kelp decreased and urchins became more common.",
}


def as_csv(row: dict[str, str]) -> bytes:
    return "\n".join([",".join(row), ",".join(row.values())]).encode()


def as_parquet(row: dict[str, str]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({name: [value] for name, value in row.items()}), out)
    return out.getvalue()


@pytest.mark.parametrize("write", [as_csv, lambda row: json.dumps(row).encode(), as_parquet])
def test_the_benchmarks_columns_on_the_hub_are_known(write):
    file = read_items(write(HUB))
    assert (file.problems, file.ignored) == ([], [])
    (record,) = file.records
    assert (record.doi, record.subfield) == ("10.1234/x", "Behavioral/Cognitive")
    assert record.markup == (
        "Kelp [[increased, decreased]] and urchins became [[rarer, more common]]."
    )


def test_text_is_markup_where_nothing_else_is():
    assert read_items(as_csv({"Text": f'"{TEXT}"'})).records[0].markup == TEXT
    assert read_items(as_csv(HUB | {"text": "Anything."})).ignored == ["text"]


THEIRS = as_csv({"Title": "Reefs", "Abstract": "Rats slept more.", "Altered abstract": "Rats ran more."})  # fmt: skip


def test_other_columns_are_guessed_and_chosen():
    file = read_items(THEIRS)
    assert file.unnamed == Unnamed(
        ["title", "abstract", "altered abstract"],
        {"altered": "altered abstract", "original": "abstract", "markup": ""},
    )
    chosen = {"original": "ABSTRACT", "altered": "Altered_Abstract", "note": "title"}
    (record,) = read_items(THEIRS, columns=chosen).records
    assert (record.markup, record.note) == (TEXT, "Reefs")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"original": "body"}, "no column “body” for original"),
        ({"original": "abstract", "altered": "Abstract"}, "chosen for two of our columns"),
        ({"text": "abstract"}, "“text” is not one of our columns"),
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(chosen, words):
    (problem,) = read_items(THEIRS, columns=chosen).problems
    assert words in problem.message


def test_versions_settle_what_markup_leaves_open():
    data = 'markup,original,altered\n"[[no, but some, some, but no]] cells","no, but some cells","some, but no cells"\n'
    (record,) = read_items(data.encode()).records
    assert record.markup == "[[no, but some | some, but no]] cells"


@pytest.mark.parametrize(
    ("row", "column", "words"),
    [
        ('a-1,"Rats [[slept, ran more.",,,,', "markup", ["never closed", "[[slept, ran"]),
        ("a-1,Rats slept.,,,,", "markup", ["no [[original"]),
        ('a-1,"[[a, b]] [[b, a]] [[a b, b a]]",,,,', None, []),
        ('a-1,"[[a b, a]] [[c, b c]]",,,,', "markup", ["same"]),
        (f'a 1,"{TEXT}",,,,', "key", ["a 1"]),
        (f'a-1,"{TEXT}",11.1/x,,,', "doi", ["11.1/x"]),
        (f'a-1,"{TEXT}",,2024-02-30,,', "publication_date", ["2024-02-30"]),
        (f'a-1,"{TEXT}",,2024-02-29 00:00:00,,', None, []),
        (f'a-1,"{TEXT}",,2024-02-29T12:30:00,,', "publication_date", ["19 characters"]),
        (f'a-1,"{TEXT}",,,robot,', "source", ["robot", "machine"]),
        (f'a-1,"{TEXT}",,,,quiz', "kind", ["quiz", "catch"]),
        (f'a-1,"Rats\0 {TEXT}",,,,', "markup", ["U+0000", "column 5", "Rats"]),
        (f'a-1,"Rats\u202e {TEXT}",,,,', "markup", ["U+202E RIGHT-TO-LEFT OVERRIDE"]),
        (f'a-1,"Rats\u200b {TEXT}",,,,', "markup", ["U+200B ZERO WIDTH SPACE"]),
        (f'a-1,"{"x" * 100_000} {TEXT}",,,,', "markup", ["100,026 characters", "20,000", "xxx"]),
        (f'a-1,"{TEXT}"', None, []),
        (f'a-1,"{TEXT}",10.1234.5/x', None, []),
        (f'a-1,"{TEXT}",,,,,x', None, ["7 cells", "6"]),
    ],
)
def test_problems_name_the_row_the_column_and_the_words(row, column, words):
    header = "key,markup,doi,publication_date,source,kind\n"
    data = f'{header}first,"{TEXT}",,,,\n{row}\n'
    if not words:
        assert problems(data) == []
        return
    at, where, message = problems(data)[0]
    assert (at, where) == (2, column)
    for word in words:
        assert word in message
    assert "\0" not in message
    assert "\u202e" not in message


def test_a_name_is_one_line():
    for column in ("key", "doi", "generator", "subfield"):
        row = {"key": "a-1", "markup": TEXT, column: "10.1000/a\tb"}
        [(at, where, message)] = problems(json.dumps(row) + "\n")
        assert (at, where) == (1, column)
        assert "U+0009" in message


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf\n", "empty"),
        (b"PK\x03\x04\x00\x00", "spreadsheet"),
        ("key,markup\n".encode("utf-16") + b"\x00", "not text: byte 0x00"),
        (b"key,markup\na,caf\xe9\n", "byte 0xe9 in line 2, after “key,markup"),
        (b"\x89PNG\r\n\x1a\n\x00", "not text: byte 0x89 in line 1"),
        (b"\xe9key\n", "not UTF-8 text: byte 0xe9 in line 1, at its beginning"),
        (b"key,key,markup\n", "same name: “key”"),
        (b"key,markup\n", "but no rows"),
        (b"title,abstract\na,b\n", "“markup”"),
        (b'[{"markup": "x"}]', "JSONL"),
    ],
)
def test_a_file_without_test_cases_is_refused_in_a_sentence(data, words):
    [(row, column, message)] = problems(data)
    assert (row, column) == (None, None)
    assert words.replace("\n", " ") in message.replace("\n", " ")


@pytest.mark.parametrize("write", [as_csv, lambda row: json.dumps(row).encode(), as_parquet])
def test_columns_of_the_same_name_are_refused(write):
    row = {"original_abstract": "Rats ran.", "Original Abstract": "Rats sat.", "altered": "Rats."}
    [(_row, _column, message)] = problems(write(row))
    assert "several columns have the same name" in message


def test_each_wrong_line_of_json_is_named():
    lines = '{\n3\n{"markup": [3.5]}\n{"markup": "a", "MARKUP": "b"}\n{"markup": "[[a, b]]"}'
    assert [(p[0], p[1]) for p in problems(lines)] == [(n, None) for n in (1, 2, 3, 4)]


def test_a_quotation_mark_is_closed_and_a_test_case_stands_in_a_file_once():
    data = f'key,markup\na-1,"{TEXT}"\na-2,"Rats [[slept, ran]]\na-3,"{TEXT}"\n'
    [(row, _, message)] = problems(data)
    assert row == 2
    assert "quotation mark" in message
    data = f'key,markup\na-1,"{TEXT}"\n,"{TEXT}"\na-1,"Rats [[ate, slept]]."\n,"{TEXT}"\n'
    assert [(p[0], p[1]) for p in problems(data)] == [(3, "key"), (4, "markup")]


def test_columns_that_are_not_read_are_named_without_half_characters():
    file = read_items(f'markup,autor,status\n"{TEXT}",Ada,accepted\n'.encode())
    assert (file.ignored, file.problems) == (["autor", "status"], [])
    file = read_items(f'{{"markup": "{TEXT}", "\\ud800": 1}}'.encode())
    assert file.ignored == ["⟨U+D800⟩"]


def test_the_published_files_are_read_as_they_are(results_dir: Path):
    for name, n, damaged in (("Human", 200, 1), ("GPT-4", 100, 4)):
        path = results_dir / "testcases" / f"BrainBench_{name}_v0.1.csv"
        file = read_items(read_content(path))
        assert (len(file.records), file.problems, file.ignored) == (n, [], [])
        assert sum(record.is_damaged for record in file.records) == damaged
