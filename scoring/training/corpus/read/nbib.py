"""PubMed's tagged format (.nbib, and its "PubMed" text) -> documents: a tag of four places, a hyphen, and lines that go on indented."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from scoring.training.corpus.document import Document, plain_doi
from scoring.training.corpus.read.xml import best_date, iso_date, medline_date
from scoring.training.corpus.unwanted import ENGLISH, RETRACTED_TYPE, is_english, plain_language

_FIELD = re.compile(r"([A-Z][A-Z0-9]{0,3}) *- (.*)")
FIRST = "PMID"  # of every record
Values = Mapping[str, list[str]]


def is_tagged(line: str) -> bool:
    """True if a file that begins with this line is in the format.

    >>> is_tagged("PMID- 90000005"), is_tagged("PMID and more")
    (True, False)
    """
    found = _FIELD.match(line)
    return found is not None and found[1] == FIRST


def read_tagged(lines: Iterable[str]) -> Iterator[Document]:
    """The records; one without an abstract has an empty text.

    >>> record = ["PMID- 5\\n", "TI  - Mice\\n", "      sleep.\\n", "AB  - They sleep.\\n", "AID - S1 [pii]\\n", "AID - 10.1/x [doi]\\n"]
    >>> [(one.id, one.title, one.text, one.doi) for one in read_tagged(record)]
    [('pmid:5', 'Mice sleep.', 'They sleep.', '10.1/x')]
    """
    record: defaultdict[str, list[str]] = defaultdict(list)
    last: list[str] = []
    for line in lines:
        if found := _FIELD.match(line):
            if found[1] == FIRST and record:
                yield _document(record)
                record = defaultdict(list)
            last = record[found[1]]
            last.append(found[2].strip())
        elif line.startswith(" ") and last:
            last[-1] = f"{last[-1]} {line.strip()}"
    if record:
        yield _document(record)


def _document(record: Values) -> Document:
    def first(*tags: str) -> str:
        return next((record[tag][0] for tag in tags if record.get(tag)), "")

    pmid = first(FIRST)
    types = [*record.get("PT", ())]
    if "RIN" in record and RETRACTED_TYPE not in types:  # retracted in
        types.append(RETRACTED_TYPE)
    said = (value for tag in ("LID", "AID") for value in record.get(tag, ()))
    dois = (plain_doi(one.removesuffix("[doi]")) for one in said if one.endswith("[doi]"))
    # The text and its language, as `read.xml` has them; the tag before another abstract names its language
    text, language = " ".join(record.get("AB", ())), plain_language("; ".join(record.get("LA", ())))
    if not language or ENGLISH in language.split("; ") or is_english(text):
        language = ENGLISH if language else ""
    else:
        others = zip(record.get("OABL", ()), record.get("OAB", ()), strict=False)
        english = (other for named, other in others if plain_language(named) == ENGLISH)
        if found := next(english, ""):
            text, language = found, ENGLISH
    electronic = re.match(r"(\d{4})(\d\d)(\d\d)", first("DEP"))
    return Document(
        id=f"pmid:{pmid}",
        text=text,
        title=first("TI", "BTI"),
        doi=next(dois, ""),
        pmid=pmid,
        pmcid=first("PMC"),
        journal=first("JT", "TA"),
        published=best_date(
            [medline_date(first("DP")), iso_date(*electronic.groups()) if electronic else ""]
        ),
        licence=first("CI"),
        kind="abstract",
        source="pubmed",
        publication_types="; ".join(types),
        language=language,
    )
