"""The two files that pubget writes for a query, in its columns; the texts are made up."""

from pathlib import Path

import pytest

from scoring.training.corpus.document import CorpusError, Document
from scoring.training.corpus.read.local import is_pubget, read_pubget

METADATA = "pmcid,pmid,doi,title,journal,publication_year,license\n"
TEXT = "pmcid,title,keywords,abstract,body\n"


def write(folder: Path, metadata: str, text: str) -> Path:
    (folder / "metadata.csv").write_text(METADATA + metadata)
    (folder / "text.csv").write_text(TEXT + text)
    return folder


def test_a_row_of_both_files_is_a_document(tmp_path: Path):
    body = "Intro\n" + "word " * 40_000  # more than the csv module reads of a cell by itself
    folder = write(
        tmp_path,
        "77,31.0,10.1000/ABC,Title,J Sleep,2019,https://creativecommons.org/licenses/by/4.0/\n",
        f'77,"Sleep of\n mice",k," Mice sleep.\n","{body}"\n',
    )
    assert is_pubget(folder)
    assert list(read_pubget(folder)) == [
        Document(
            id="pmcid:PMC77",
            text=f"Mice sleep.\n{body.strip()}",
            title="Sleep of mice",
            doi="10.1000/abc",
            pmid="31",
            pmcid="PMC77",
            journal="J Sleep",
            published="2019",
            licence="https://creativecommons.org/licenses/by/4.0/",
            kind="fulltext",
            source="pubget",
        )
    ]


def test_there_is_one_document_for_each_number_and_doi(tmp_path: Path):
    metadata = "1,,10.1/a,T,J,2019,\n2,,10.1/A,T,J,2019,\n3,,,T,J,2019,\n4,,,T,J,2019,\n"
    text = "1,T,,A,B1\n1,T,,A,B1\n2,T,,A,B2\n3,T,,A,B3\n4,T,,A,\n"
    ids = [document.pmcid for document in read_pubget(write(tmp_path, metadata, text))]
    assert ids == ["PMC1", "PMC3"]  # 2 has the DOI of 1, and 4 no body


@pytest.mark.parametrize(
    ("metadata", "text", "expected"),
    [
        ("1,,,T,J,2019,\n", "1,T,,A,B\nx,T,,A,B\n", "text.csv, line 3: “x” is no PMCID."),
        ("1,,,T,J,2019,\n", '1,T,,A,"B\nB"\n2,T,,A,B\n', "text.csv, line 4: metadata.csv has no row for the PMCID 2."),
        ("1,,,T\n", "", "metadata.csv, line 2: the row has not as many cells as there are columns."),
        ("1,,,T,J,2019,\n", "1,T,,A,B,more\n", "text.csv, line 2: the row has not as many cells as there are columns."),
        ("1,,,T,J,2019,\n", '1,T,,A,"B\n', "text.csv, after line 1: unexpected end of data."),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named_by_file_and_line(
    tmp_path: Path, metadata: str, text: str, expected: str
):
    with pytest.raises(CorpusError) as raised:
        list(read_pubget(write(tmp_path, metadata, text)))
    assert str(raised.value) == expected


def test_a_missing_column_is_named(tmp_path: Path):
    folder = write(tmp_path, "", "")
    (folder / "text.csv").write_text("pmcid,body\n")
    with pytest.raises(CorpusError, match=r"text\.csv: the column title is missing"):
        list(read_pubget(folder))
