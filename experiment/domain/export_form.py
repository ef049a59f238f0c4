"""How the rows of an export are written. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from experiment.domain.trial_query import Problem, QueryError

FORMATS = ("csv", "jsonl", "parquet")
PSYCH_DS = "psych-ds"
DATA_SET = "data-set"  # with all that joins the trials, in the same form
IN_TABLES = (PSYCH_DS, DATA_SET)
USUAL_K = 5


@dataclass(frozen=True, slots=True)
class Form:
    """bom: a CSV file begins with what some spreadsheet programs know UTF-8 by. zip: with manifest and codebook.

    k: fewest people who share what a released row says about its participant; 0 where nothing is coarsened.
    words: whether a release has what participants wrote in answer to questions.
    """

    format: str = "csv"
    bom: bool = False
    zip: bool = False
    k: int = 0
    words: bool = False

    def encode(self) -> str:
        """
        >>> Form().encode(), Form(bom=True, k=5).encode()
        ('format=csv', 'format=csv&bom=true&release=true&k=5')
        """
        said = {"format": self.format}
        said |= {name: "true" for name in ("bom", "zip") if getattr(self, name)}
        said |= {"release": "true", "k": str(self.k)} if self.k else {}
        return urlencode(said | ({"words": "true"} if self.words else {}))

    @property
    def is_zip(self) -> bool:
        return self.zip or self.is_in_tables

    @property
    def is_in_tables(self) -> bool:
        return self.format in IN_TABLES

    @property
    def suffix(self) -> str:
        """
        >>> Form().suffix, Form(bom=True, zip=True).suffix, Form("psych-ds", k=5).suffix
        ('.csv', '-bom.csv.zip', '-k5-psych-ds.zip')
        """
        marks = f"{f'-k{self.k}' if self.k else ''}{'-bom' * self.bom}"
        kind = f"-{self.format}" if self.is_in_tables else f".{self.format}"
        return f"{marks}{kind}{'.zip' * self.is_zip}"


CSV = Form()
NAMES = ("format", "bom", "zip", "release", "k", "words")
TRUTH = ("true", "false")


def parse(values: Mapping[str, Sequence[str]]) -> Form:
    """Read the form from texts by name; other names are passed over.

    Raises:
        QueryError: an unknown value; or a byte order mark, which CSV alone can have, for another format.
    """
    said = {name: "".join(values.get(name, ())[-1:]) for name in NAMES}
    format_name = said["format"] or CSV.format
    if format_name not in (*FORMATS, *IN_TABLES):
        raise QueryError([Problem("format", format_name, (*FORMATS, *IN_TABLES))])
    for name in ("bom", "zip", "release", "words"):
        if said[name] not in ("", *TRUTH):
            raise QueryError([Problem(name, said[name], TRUTH)])
    if said["bom"] == "true" and format_name != "csv":
        raise QueryError([Problem("bom", "true", why="only CSV has a byte order mark")])
    k = said["k"] or str(USUAL_K)
    if not (k.isascii() and k.isdigit() and len(k) < 5 and int(k) >= 2):
        raise QueryError([Problem("k", k, why="a number of people, 2 or more")])
    is_zip = said["zip"] == "true" and format_name not in IN_TABLES  # which are one anyhow
    if said["release"] != "true":
        return Form(format_name, said["bom"] == "true", is_zip)
    return Form(format_name, said["bom"] == "true", is_zip, int(k), said["words"] == "true")
