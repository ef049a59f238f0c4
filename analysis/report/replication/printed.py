"""Numbers that the BrainBench paper prints, from printed.toml: each with the way to recompute it, and when the two agree."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

HUMAN, MACHINE = "human", "machine"
NO_MACHINE_SCORES = "no_machine_scores"
FILE = Path(__file__).with_name("printed.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A figure, table or section; `preprint` and `article`: its number there, several joined by commas, "" where it has none."""

    name: str
    preprint: str
    article: str
    title: str
    source: str = HUMAN

    def __str__(self) -> str:
        """Its number where it has one, its title, and that of which test cases it is.

        >>> str(Place(name="", preprint="S21", article="S22", title="teams"))
        'S21 of the preprint, S22 of the article: teams'
        """
        if self.preprint == self.article:
            number = self.preprint
        elif self.article:
            number = f"{self.preprint} of the preprint, {self.article} of the article"
        else:
            number = f"{self.preprint} of the preprint"
        about = ", machine-created" if self.source == MACHINE else ""
        return f"{number}: {self.title}{about}" if number else f"{self.title}{about}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """A row of printed.toml, whose first lines say what the fields are."""

    place: Place
    what: str
    source: str
    printed: str = ""
    value: str = ""
    times: float = 1.0
    relation: str = "equal"
    tolerance: float = 0.0
    why: str = ""
    instead: str = ""
    remark: str = ""
    not_in_files: str = ""

    @property
    def printed_words(self) -> str:
        """Words of the number, as a cell of a table."""
        if not self.printed:
            return ""
        within = f"{self.tolerance:g}"
        match self.relation:
            case "above" | "below":
                return f"{self.relation} {self.printed}"
            case "around":
                return f"about {self.printed} (within {within})"
            case "at_least":
                tolerance = f", with a tolerance of {within}" if self.tolerance else ""
                return f"at least {self.printed}{tolerance}"
        return self.printed

    def agrees(self, value: float) -> bool:
        """True if the recomputed value is what the printed number says.

        >>> place = Place(name="", preprint="", article="", title="")
        >>> row = Printed(place=place, source=HUMAN, what="", printed="0.42")
        >>> row.agrees(0.4249), row.agrees(0.4274)
        (True, False)
        >>> about = Printed(place=place, source=HUMAN, what="", printed="20", relation="around", tolerance=5)
        >>> about.agrees(24.9), about.agrees(25.1)
        (True, False)
        """
        number = float(self.printed)
        match self.relation:
            case "above":
                return value > number
            case "below":
                return value < number
            case "at_least":
                return value >= number - self.tolerance
            case "around":
                return abs(value - number) <= self.tolerance
        half_unit = 0.5 * 10.0 ** -len(self.printed.partition(".")[2])
        return abs(value - number) <= half_unit + self.tolerance + 1e-9


def _read() -> tuple[dict[str, Place], tuple[Printed, ...], dict[str, str]]:
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    tables = found["places"]
    places, rows = {}, []
    for name, table in tables.items():
        place = Place(
            name=name,
            preprint=table["preprint"],
            article=table.get("article", table["preprint"]),
            title=table["title"],
            source=table.get("source", HUMAN),
        )
        places[name] = place
        for row in table.get("rows", ()):
            rows.append(Printed(**{"place": place, "source": place.source} | row))
        # A figure that is shown again on machine-created test cases has the same values, without printed numbers. Models'
        # values need scores that a copy of the published data may lack
        for row in tables[table["again"]]["rows"] if "again" in table else ():
            same = {key: row[key] for key in ("what", "value", "times") if key in row}
            again = Printed(
                place=place, source=place.source, not_in_files=NO_MACHINE_SCORES, **same
            )
            rows.append(again)
    return {name: places[name] for name in found["order"]}, tuple(rows), found["words"]


PLACES, ROWS, WORDS = _read()  # places in the order of replication.md
