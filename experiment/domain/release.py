"""The form of an export, and what a public one may say about participants: no combination that fits fewer than k of them. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from experiment.domain.survey import COLUMN
from experiment.domain.trial_query import Problem, QueryError

FORMATS = ("csv", "jsonl", "parquet", "xlsx")
PSYCH_DS = "psych-ds"
DATA_SET = "data-set"  # with all that joins the trials, in the same form
IN_TABLES = (PSYCH_DS, DATA_SET)
USUAL_K = 5


@dataclass(frozen=True, slots=True)
class Form:
    """bom: a CSV file begins with what some spreadsheet programs know UTF-8 by. zip: with manifest and codebook.

    k: fewest people who share what a released row says about its participant; 0 where nothing is coarsened.
    words: whether a release has what participants wrote in answer to questions, and what they answered to survey questions.
    """

    format: str = "csv"
    bom: bool = False
    zip: bool = False
    k: int = 0
    words: bool = False

    def as_dict(self) -> dict[str, str]:
        """The choices, by name, as an address and the audit trail have them."""
        said = {"format": self.format}
        said |= {name: "true" for name in ("bom", "zip") if getattr(self, name)}
        said |= {"release": "true", "k": str(self.k)} if self.k else {}
        return said | ({"words": "true"} if self.words else {})

    def encode(self) -> str:
        """
        >>> Form().encode(), Form(bom=True, k=5).encode()
        ('format=csv', 'format=csv&bom=true&release=true&k=5')
        """
        return urlencode(self.as_dict())

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
OF_RELEASE = {"k", "words"}
NO_RELEASE = "this is only for an export for the public; ask for a release too"


def parse(values: Mapping[str, Sequence[str]]) -> Form:
    """Read the form from texts by name; other names are passed over.

    Raises:
        QueryError: an unknown value; a byte order mark, which CSV alone can have, for another format; or what only a release
            has, without one.
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
    chosen = {name for name, text in said.items() if text not in ("", "false")}
    if said["release"] != "true" and (of_release := OF_RELEASE & chosen):
        raise QueryError([Problem(name, said[name], why=NO_RELEASE) for name in sorted(of_release)])
    k = said["k"] or str(USUAL_K)
    if not (k.isascii() and k.isdigit() and len(k) < 5 and int(k) >= 2):
        raise QueryError([Problem("k", k, why="a number of people, 2 or more")])
    is_zip = said["zip"] == "true" and format_name not in IN_TABLES  # which are one anyhow
    if said["release"] != "true":
        return Form(format_name, said["bom"] == "true", is_zip)
    return Form(format_name, said["bom"] == "true", is_zip, int(k), said["words"] == "true")


# In the order in which they are given up
QUASI_IDENTIFIERS = ("country", "experience_years", "position_held", "age", "gender")
# Exact moments, sizes of windows and names elsewhere tell one person from all others: a release has no such columns
DROPPED = (
    "recruitment_source",
    "published_id",
    "consented_at",
    "started_at",
    "shown_at",
    "received_at",
    "finished_at",
    "advice_shown_at",
    "first_received_at",
    "viewport_width",
    "viewport_height",
    "seed",
)
# Neither has it these, which may: unless somebody has read them, and says so
WORDS = ("answer_text",)
SUPPRESSED = "suppressed"
NOTHING = (SUPPRESSED,) * len(QUASI_IDENTIFIERS)
Answers = tuple[str | None, ...]  # in the order above
AGES = (18, 25, 35, 45, 55, 65)
YEARS = (0, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Released:
    """The answers of each participant that may be published, and of how many each was left out.

    smaller_k: where every answer was left out, one that leaves some; None if no other does, or some are left.
    """

    answers: Mapping[str, Answers]
    suppressed: Mapping[str, int] = field(default_factory=dict)
    smaller_k: int | None = None

    @property
    def is_empty(self) -> bool:
        return bool(self.answers) and set(self.answers.values()) == {NOTHING}


def release(people: Mapping[str, Answers], k: int) -> Released:
    """Answers so coarse that each combination of them fits at least k people, or is wholly suppressed.

    >>> alike = {str(n): ("GB", "3", "faculty", "31", "female") for n in range(5)}
    >>> released = release(alike | {"5": ("FR", "3", "faculty", "31", "male")}, k=5)
    >>> released.answers["0"]
    ('suppressed', 'suppressed', 'suppressed', 'suppressed', 'suppressed')
    >>> release(alike, k=5).answers["0"]
    ('GB', '0-4', 'faculty', '25-34', 'female')
    """
    found = _released(people, k)
    if not found.is_empty:
        return found
    # Smaller groups leave as much or more, as a rule: each trial rules half of the sizes out
    none, all_k = 1, min(k, len(people) + 1)
    while all_k - none > 1:
        middle = (none + all_k) // 2
        none, all_k = (none, middle) if _released(people, middle).is_empty else (middle, all_k)
    return replace(found, smaller_k=none if none > 1 else None)


def _released(people: Mapping[str, Answers], k: int) -> Released:
    answers = {}
    for name, own in people.items():
        named = zip(QUASI_IDENTIFIERS, own, strict=True)
        answers[name] = tuple(BANDED.get(of, str)(said) if said else said for of, said in named)
    # One answer after the other is left out where fewer than k share a combination
    for place in range(len(QUASI_IDENTIFIERS)):
        sizes = Counter(answers.values())
        for name, own in list(answers.items()):
            if sizes[own] < k:
                answers[name] = (*own[:place], SUPPRESSED, *own[place + 1 :])
    # Who is left with nothing must not be few either: the smallest groups join them
    sizes = Counter(answers.values())
    while 0 < sizes[NOTHING] < k and len(sizes) > 1:
        joining = min((n, str(said), said) for said, n in sizes.items() if said != NOTHING)[2]
        answers = {name: NOTHING if own == joining else own for name, own in answers.items()}
        sizes = Counter(answers.values())
    n_suppressed = {
        name: sum(own[place] == SUPPRESSED for own in answers.values())
        for place, name in enumerate(QUASI_IDENTIFIERS)
    }
    return Released(answers, n_suppressed)


def left_out(columns: Iterable[str], *, words: bool) -> tuple[str, ...]:
    """Those of an export's columns that a release does not have; with participants' own words, or without.

    Answers to survey questions count as their words: nobody but the study team knows what they tell of a person.

    >>> names = ["seed", "answer_text", "survey_trust", "correct"]
    >>> left_out(names, words=False), left_out(names, words=True)
    (('seed', 'answer_text', 'survey_trust'), ('seed',))
    """
    names = list(columns)
    own = () if words else (*WORDS, *(name for name in names if name.startswith(COLUMN)))
    return tuple(name for name in (*DROPPED, *own) if name in names)


def band(answer: str, starts: tuple[int, ...]) -> str:
    """The band that a number falls in; other answers stay, but for numbers below all bands.

    >>> band("31", AGES), band("70", AGES), band("4.5", YEARS), band("prefer_not_to_say", AGES), band("3", AGES)
    ('25-34', '65+', '0-4', 'prefer_not_to_say', 'suppressed')
    """
    try:
        number = float(answer)
    except ValueError:
        return answer
    reached = [start for start in starts if start <= number]
    if not reached:  # also of what is no number, as "nan"
        return SUPPRESSED
    later = starts[len(reached) :]
    return f"{reached[-1]}-{later[0] - 1}" if later else f"{reached[-1]}+"


BANDED: Mapping[str, Callable[[str], str]] = {
    "age": lambda answer: band(answer, AGES),
    "experience_years": lambda answer: band(answer, YEARS),
}
