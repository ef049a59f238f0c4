"""Files of one's own, and pubget's."""

import gzip
import io
import os
from collections.abc import Callable
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from scoring.training.corpus.document import CorpusError, Document, to_line
from scoring.training.corpus.read.local import (
    MOST_PROBLEMS,
    LocalFile,
    Problems,
    Reading,
    is_pubget,
    local_files,
    read_file,
    read_pubget,
)
from scoring.training.corpus.read.reference import read_texts
from scoring.training.corpus.read.xml import read_articles
from scoring.training.corpus.unwanted import why_unwanted
from tests.scoring.training.corpus.made import document
from tests.sheets import ods, xlsx

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
        ("1,,,T,J,2019,\n", "1,T,,A,B\nx,T,,A,B\n", "text.csv, line 3: “x” is not a PMCID."),
        ("1,,,T,J,2019,\n", '1,T,,A,"B\nB"\n2,T,,A,B\n', "text.csv, line 4: metadata.csv does not have a row for the PMCID 2."),
        ("1,,,T,J,2019,\n", '1,T,,A,"B\n', "text.csv, line 2: cannot be read as CSV from here on"),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named_by_file_and_line(
    tmp_path: Path, metadata: str, text: str, expected: str
):
    with pytest.raises(CorpusError) as raised:
        list(read_pubget(write(tmp_path, metadata, text)))
    assert str(raised.value).startswith(expected)


def read(path: Path, reading: Reading | None = None, skipped: list[str] | None = None) -> list[Document]:  # fmt: skip
    problems = Problems()
    files = local_files(path, problems, [] if skipped is None else skipped)
    found = [one for local in files for one in read_file(local, reading or Reading(), problems)]
    problems.refuse()
    return found


def written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_lines_of_documents_are_read_as_they_were_written(tmp_path: Path) -> None:
    whole = {one.name: f"some {one.name}" for one in fields(Document)}
    told = whole | {"id": "pmid:1", "kind": "fulltext", "published": "2019-08"}
    documents = [Document(**told), document(2, kind="fulltext", source="pmc")]  # type: ignore[arg-type]
    path = written(tmp_path / "a.jsonl", "".join(to_line(one) + "\n\n" for one in documents))
    assert read(path) == documents


@pytest.mark.parametrize(("ending", "comma"), [("csv", ","), ("csv", ";"), ("TSV", "\t")])
def test_tables_are_read_by_the_names_of_their_columns(tmp_path: Path, ending: str, comma: str) -> None:  # fmt: skip
    lines = [comma.join(cells) for cells in (["Abstract", "DOI", "note"], ['"A, ""quoted""\ntext"', "10.1/x", "-"], [], ["Next"])]  # fmt: skip
    path = written(tmp_path / f"t.{ending}", "\ufeff" + "\r\n".join(lines))
    assert read(path, Reading("abstract")) == [
        Document(f"file:t.{ending}#3", 'A, "quoted"\ntext', doi="10.1/x", source=f"t.{ending}"),
        Document(f"file:t.{ending}#5", "Next", source=f"t.{ending}"),
    ]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_tables_are_read_in_the_encoding_that_excel_calls_unicode(tmp_path: Path, encoding: str) -> None:  # fmt: skip
    content = '\ufefftext\ttitle\r\nMäuse \u010aschlafen.\tA\r\n"Two\nlines"\tB\r\n'
    read_back = read(written(tmp_path / "a.tsv", content.encode(encoding)))
    assert [(one.text, one.title) for one in read_back] == [("Mäuse \u010aschlafen.", "A"), ("Two\nlines", "B")]  # fmt: skip


ARTICLE = """<PubmedArticle><MedlineCitation><PMID>{n}</PMID><Article><ArticleTitle>T</ArticleTitle>
<Abstract><AbstractText>{text}</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>"""
BOOKS = "<PubmedBookArticle><BookDocument><PMID>8</PMID></BookDocument></PubmedBookArticle>"
GONE = "<DeleteCitation><PMID Version='1'>5</PMID><PMID Version='1'>6</PMID></DeleteCitation>"


def pubmed_set(*parts: str) -> bytes:
    return f"<?xml version='1.0'?><PubmedArticleSet>{''.join(parts)}</PubmedArticleSet>".encode()


@pytest.mark.parametrize("name", ["pubmed26n0001.xml.gz", "set.XML"])
def test_files_of_pubmed_are_read_and_what_is_no_document_counted(
    tmp_path: Path, name: str
) -> None:
    articles = (ARTICLE.format(n=n, text="Mice sleep." if n < 4 else "") for n in range(1, 5))
    content = pubmed_set(*articles, BOOKS, GONE)
    path = written(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content)
    problems = Problems()
    found = [
        one
        for local in local_files(tmp_path, problems, [])
        for one in read_file(local, Reading(), problems)
    ]
    assert [one.id for one in found] == ["pmid:1", "pmid:2", "pmid:3", "pmid:5", "pmid:6"]
    assert [why_unwanted(one) for one in found[2:]] == [
        "",
        "deleted from PubMed",
        "deleted from PubMed",
    ]
    assert dict(problems.passed_over) == {"without a text": 1, "a book": 1}
    assert path.exists()


def test_a_file_of_pubmed_is_read_one_article_after_the_other() -> None:
    content = pubmed_set(*(ARTICLE.format(n=n, text="Mice. " * 200) for n in range(2000)))
    file = io.BytesIO(content)
    records = read_articles(file)
    next(records)
    assert file.tell() < len(content) / 10
    assert sum(len(one.documents) for one in records) == 1999


def test_an_article_of_pmc_is_read_with_its_type_and_language(tmp_path: Path) -> None:
    front = "<front><article-meta><article-id pub-id-type='pmcid'>PMC7</article-id><title-group><article-title>RETRACTED: mice</article-title></title-group></article-meta></front>"
    path = written(tmp_path / "a.xml", f"<article article-type='research-article' xml:lang='en'>{front}<body><p>Mice.</p></body></article>")  # fmt: skip
    (found,) = read(path)
    assert (found.id, found.text, found.language) == ("pmcid:PMC7", "Mice.", "eng")
    assert why_unwanted(found) == "retracted"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xml", pubmed_set(ARTICLE.format(n=1, text="A."))[:-40], "a.xml: is not readable XML after"),
        ("a.xml", b"<html><p>Mice.</p></html>", "a.xml: does not contain an article of PubMed or PMC."),
        ("a.xml.gz", b"no gzip", "a.xml.gz: is not readable XML after 0 records (Not a gzipped file"),
        ("a.xml.gz", gzip.compress(pubmed_set(ARTICLE.format(n=1, text="A.")))[:-30], "a.xml.gz: is not readable XML"),
        ("a.tar.gz", b"", "a.tar.gz: is not a .jsonl"),
    ],
)  # fmt: skip
def test_xml_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    with pytest.raises(CorpusError) as raised:
        read(written(tmp_path / name, content))
    assert str(raised.value).startswith(words)


TAGGED = """PMID- 90000005
DP  - 2019 Aug 2
TI  - Invented
      title
LID - S1 [pii]
AB  - BACKGROUND: We found that forty rats slept
      and dreamt.
PT  - Journal Article
PT  - Retracted Publication
LA  - eng
JT  - Journal of sleep
AID - 10.5555/Y [doi]
PMC - PMC77

PMID- 90000006
TI  - Without
LA  - spa

PMID- 90000007
AB  - Se durmió.
LA  - spa
OABL- eng
OAB - They slept.
RIN - J Sleep. 2020
"""


@pytest.mark.parametrize("name", ["pubmed-set.nbib", "pubmed-set.txt"])
def test_pubmeds_tagged_format_is_read_by_its_tags(tmp_path: Path, name: str) -> None:
    problems = Problems()
    (local,) = local_files(written(tmp_path / name, TAGGED.replace("\n", "\r\n")), problems, [])
    first, last = read_file(local, Reading(), problems)
    assert first == Document(
        id="pmid:90000005",
        text="BACKGROUND: We found that forty rats slept and dreamt.",
        title="Invented title",
        doi="10.5555/y",
        pmid="90000005",
        pmcid="PMC77",
        journal="Journal of sleep",
        published="2019-08-02",
        kind="abstract",
        source="pubmed",
        publication_types="Journal Article; Retracted Publication",
        language="eng",
    )
    assert (last.text, last.language) == ("They slept.", "eng")
    assert why_unwanted(last) == "retracted"
    assert dict(problems.passed_over) == {"without a text": 1}


def test_a_plain_text_is_a_document_or_one_for_each_block(tmp_path: Path) -> None:
    path = written(tmp_path / "a.txt", "One\nline.\n\n\nTwo.\n \nThree.")
    (whole,) = read(path)
    assert (whole.id, whole.text) == ("file:a.txt", "One\nline.\n\n\nTwo.\n \nThree.")
    blocks = read(path, Reading(by_blank_lines=True))
    assert [(one.id, one.text.strip()) for one in blocks] == [
        ("file:a.txt#1", "One\nline."),
        ("file:a.txt#5", "Two."),
        ("file:a.txt#7", "Three."),
    ]
    assert read(written(tmp_path / "empty.txt", "")) == []


def test_a_folder_is_read_with_all_below_it_but_what_is_hidden_and_other_files_are_named(
    tmp_path: Path,
) -> None:
    for name in (
        "b/2.txt",
        "b/c/1.jsonl",
        "a.txt",
        "b/3.txt",
        ".git/x.txt",
        "b/.a.txt",
        "photo.png",
    ):
        written(tmp_path / "texts" / name, '{"text": "Text."}')
    skipped: list[str] = []
    found = read(tmp_path / "texts", skipped=skipped)
    assert [one.source for one in found] == [f"texts/{name}" for name in ("a.txt", "b/2.txt", "b/3.txt", "b/c/1.jsonl")]  # fmt: skip
    assert skipped == ["texts/photo.png"]


WRONG = {
    "no JSON": ("a.jsonl", '{"text": "x"}\n{"text": \n', "a.jsonl, line 2: is not JSON"),
    "no text": ("a.jsonl", '\n{"abstract": "x", "b": 1}', "a.jsonl, line 2: no text in “text” (columns: abstract, b)"),
    "half a character": ("a.jsonl", '{"text": "\\ud800"}', "line 1: contains half a character"),
    "Latin-1": ("a.jsonl", b'{"text": "x"}\n{"text": "caf\xe9"}\n', "a.jsonl, line 2: is not UTF-8, at byte 14"),
    "a row of too many cells": ("a.csv", "text\nx,y\n", "a.csv, line 2: has 2 cells, but the header has 1"),
    "a table without the column": ("a.csv", "abstract\nx\ny\n", "a.csv, line 1: no text in “text” (columns: abstract)"),
    "PubMed's export": ("a.csv", "PMID,Title,Citation\n1,T,C\n", "a.csv, line 1: PubMed's CSV export does not contain abstracts"),
    "half of UTF-16": ("a.tsv", "text\nx\n".encode("utf-16")[:-1], "a.tsv: is not UTF-16, at byte"),
    "long UTF-16": ("a.tsv", ("text\n" + "x" * 2**25).encode("utf-16"), "a.tsv: is UTF-16 text of more than 67,108,864 bytes. Save it as UTF-8"),
    "another kind": ("a.docx", "x", "a.docx: is not a .jsonl"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "said"), WRONG.values(), ids=WRONG.keys())
def test_an_error_is_named_by_file_and_line(tmp_path: Path, name: str, content: str | bytes, said: str) -> None:  # fmt: skip
    with pytest.raises(CorpusError) as raised:
        read(written(tmp_path / name, content))
    assert said in str(raised.value)


def test_all_that_is_wrong_is_said_at_once_up_to_a_number(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", '[]\n{"text": "x"}\n1\n')
    written(tmp_path / "b.csv", "doi\nx\ny\n")
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert len(str(raised.value).splitlines()) == 3
    written(tmp_path / "c.jsonl", "[]\n" * 1000)
    with pytest.raises(CorpusError) as raised:
        read(tmp_path)
    assert len(str(raised.value).splitlines()) == MOST_PROBLEMS


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    secret = written(tmp_path / "elsewhere" / "secret.txt", "Secret.")
    texts = tmp_path / "texts"
    texts.mkdir()
    for name, target in (("link.txt", secret), ("folder", secret.parent), ("nowhere.txt", tmp_path / "x")):  # fmt: skip
        (texts / name).symlink_to(target)
    os.mkfifo(texts / "pipe.txt")
    with pytest.raises(CorpusError) as raised:
        read(texts)
    assert [line.split(":")[0] for line in str(raised.value).splitlines()] == [
        "texts/folder",
        "texts/link.txt",
        "texts/nowhere.txt",
        "texts/pipe.txt",
    ]
    with pytest.raises(CorpusError, match="link"):
        read(texts / "link.txt")
    (tmp_path / "named").symlink_to(secret.parent)
    assert [one.text for one in read(tmp_path / "named")] == ["Secret."]  # the administrator's own


@pytest.mark.parametrize(("written", "ending"), [(xlsx, ".xlsx"), (ods, ".ods")])
def test_a_sheet_of_texts_is_read_and_one_without_texts_is_a_problem(
    tmp_path: Path, written: Callable[..., bytes], ending: str
) -> None:
    rows = [("Text", "pmid", "published"), ("One.", 12, date(2020, 1, 2)), (), ("Two.", "", "")]
    path = tmp_path / f"a{ending}"
    path.write_bytes(written({"Notes": [("mine",)], "Texts": rows}))
    problems = Problems()
    read = read_file(LocalFile(path, path.name), Reading(), problems)
    found = [(one.id, one.text, one.pmid, one.published) for one in read]
    assert found == [
        (f"file:a{ending}#2", "One.", "12", "2020-01-02"),
        (f"file:a{ending}#4", "Two.", "", ""),
    ]
    texts = read_texts(path.read_bytes(), path, "text", "pmid")
    assert [(one.text, one.id) for one in texts] == [("One.", "12"), ("Two.", "")]
    path.write_bytes(written({"Notes": [("mine",), ("a",)]}))
    assert not [*read_file(LocalFile(path, path.name), Reading(), problems)]
    assert "no text in “text” (columns: mine)" in problems.found[0]
