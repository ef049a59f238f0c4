"""Dot plots with one row per model: models by family under the family's name, people on top."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import altair as alt
import pandas as pd

from analysis.charts.marks import Drawn, dots, intervals, text_width
from analysis.charts.style import HUMANS, INK, ROW, family_colour
from analysis.charts.texts import quoted
from analysis.data.dataset import MODEL_NAME
from analysis.stats.arrays import Interval
from analysis.stats.estimates import Proportion

PEOPLE = "People"
LONGEST = 46  # letters of a row's name; the table has the whole name


class Labelled(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def display_name(self) -> str: ...


FEWEST_ROWS = 4  # of this height is a figure with fewer


class Model(Labelled, Protocol):
    """A result about one model."""

    @property
    def family(self) -> str: ...


AnyModel = TypeVar("AnyModel", bound=Model)


@dataclass(frozen=True)
class Rows:
    """`label` of each model by name; `domain` is the y axis from top to bottom, `headings` those of it that are bold."""

    label: dict[str, str]
    domain: list[str]
    headings: dict[str, str] = field(default_factory=dict[str, Any])  # heading -> its colour

    @property
    def width(self) -> int:
        return max(text_width(self.domain), text_width(list(self.headings), 11.8)) + 8

    @property
    def height(self) -> int:
        """In px; of a single model no strip."""
        return ROW * max(len(self.domain), FEWEST_ROWS)

    def y(self, column: str = "row", **axis: Any) -> alt.Y:
        """The y axis, as wide as its names, so that the whole chart's width is known."""
        tests = [
            {"test": f"datum.value === {quoted(text)}", "value": colour}
            for text, colour in self.headings.items()
        ]
        bold = [{**test, "value": "bold"} for test in tests]
        options: dict[str, Any] = {
            "title": None,
            "minExtent": self.width,
            "maxExtent": self.width,
            "labelPadding": 6,
        }
        if tests:
            options["labelColor"] = {"condition": tests, "value": INK}
            options["labelFontWeight"] = {"condition": bold, "value": "normal"}
        return alt.Y(
            f"{column}:N",
            scale=alt.Scale(domain=self.domain, paddingInner=0.2, paddingOuter=0.1),
            sort=None,
            axis=alt.Axis(**{**options, **axis}),
        )


def short(text: str, longest: int = LONGEST) -> str:
    """The text with its middle left out where it is too long for a label.

    >>> short("abcdefghij", 7)
    'abc…hij'
    """
    if len(text) <= longest:
        return text
    head = (longest - 1) // 2
    return f"{text[:head]}…{text[len(text) - (longest - 1 - head) :]}"


def labels(models: Sequence[Labelled]) -> dict[str, str]:
    """A label for each by name, no two alike: the display name, with a number where that is not enough."""
    found: dict[str, str] = {}
    for model in models:
        shown = model.display_name or model.name
        label = short(shown)
        for n in range(2, len(models) + 2):
            if label not in found.values():
                break
            label = f"{short(shown, LONGEST - 4)} ({n})"
        found[model.name] = label
    return found


def by_family(models: Sequence[AnyModel]) -> list[AnyModel]:
    """The models with those of a family together; families and members in their order."""
    families = list(dict.fromkeys(model.family for model in models))
    return sorted(models, key=lambda model: families.index(model.family))


def rows_of(models: Sequence[Model], lead: Sequence[str] = ()) -> Rows:
    """People's rows `lead` under their heading, then the models under their families."""
    label = labels(models)
    domain: list[str] = []
    headings: dict[str, str] = {}
    if lead:
        headings[PEOPLE] = HUMANS
        domain += [PEOPLE, *lead]
    last = None
    for model in by_family(models):
        family = model.family
        if family and family != last:
            heading = family if family not in [*label.values(), *domain] else f"{family} models"
            headings[heading] = family_colour(family)
            domain.append(heading)
        last = family
        domain.append(label[model.name])
    return Rows(label, domain, headings)


def model_frame(
    models: Sequence[AnyModel],
    rows: Rows,
    columns: Callable[[AnyModel], dict[str, Any]],
    ci95: Callable[[AnyModel], Interval | None],
    chat: Collection[str],
) -> pd.DataFrame:
    """A table of the models' names and methods, these `columns`, `row`, `colour` and the interval's ends `low` and `high`.

    `chat` holds the names of chat models, which are drawn hollow.
    """
    ends = [ci95(m) or (None, None) for m in models]
    names = (*MODEL_NAME, "family")
    frame = pd.DataFrame([{n: getattr(m, n) for n in names} | columns(m) for m in models])
    return frame.assign(
        row=[rows.label[m.name] for m in models],
        colour=[family_colour(m.family) for m in models],
        is_chat=[m.name in chat for m in models],
        low=pd.Series([low for low, _ in ends], dtype=float).to_numpy(),
        high=pd.Series([high for _, high in ends], dtype=float).to_numpy(),
    )


def people_row(row: str, share: Proportion) -> dict[str, Any]:
    """A row of people: their accuracy, its interval, their colour."""
    low, high = share.ci95
    return {"row": row, "accuracy": share.accuracy, "low": low, "high": high, "colour": HUMANS}


def dots_with_intervals(
    data: alt.Chart, x: alt.X, y: alt.Y, *, thickness: float = 1.4, **point: Any
) -> Drawn:
    """Points at `x`, hollow for chat models, with lines from `low` to `high`."""
    bars = intervals(data, y, strokeWidth=thickness)
    return alt.layer(bars, dots(data, **point).encode(x=x, y=y))
