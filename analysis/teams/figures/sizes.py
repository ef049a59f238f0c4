"""Expected accuracy of teams of several people and several models."""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    finish,
    level,
    own_colour,
    share_domain,
    share_y,
)
from analysis.charts.style import FULL, HUMANS, INK
from analysis.presentation import figure_text
from analysis.stats import NotEnough
from analysis.teams.figures.rows import ends
from analysis.teams.results import Sizes
from lib.formatting import count

ALONE = "people alone"
# Of one model, ..., of the most: lighter ones first, and no two alike in hue
SHADES = ("#5fb3d9", "#e69f00", "#c2527e", "#6a3d9a", "#0b2e59")
HEIGHT, ROOM = 280, 120  # px; for the words right of the plot
LINE_HEIGHT = 14
NUMBERS, BANDS = (
    (0, 1, 2, 3, 5, 10),
    4,
)  # of models, a line each; lines up to which each has its band


def sizes(found: Sizes, is_simulated: bool) -> Figure:
    """Accuracy over the number of people, a line per number of models that is named at its end; people alone in their colour."""
    frame = _frame(found)
    lines = _lines(frame)
    colours = _colours(lines)
    shown = frame[frame["words"].isin(lines)]
    shown = shown.assign(colour=shown["words"].map(colours))
    with_band = _with_band(lines) if frame["low"].notna().any() else []
    context = {
        "sizes": found,
        "is_simulated": is_simulated,
        "n_people": int(frame["n_humans"].max()),
        "has_bands": bool(with_band),
        "some_bands": "" if len(with_band) == len(lines) else ", ".join(with_band),
        "is_short": len(shown) < len(frame),
        "lines": [
            (name, line.iloc[[0, -1] if len(line) > 1 else [0]].to_dict("records"))
            for name, line in shown.groupby("words", sort=False)
        ],
    }
    text = figure_text("teams_sizes", context)
    table = frame.drop(columns=["words", "x"])
    table = table.rename(columns={"low": "ci_low", "high": "ci_high"})
    drawn = finish(_chart(shown, with_band, is_simulated), text.alt)
    return Figure("teams_sizes", text.title, text.caption, text.alt, table, drawn)


def _frame(found: Sizes) -> pd.DataFrame:
    """A row per size; `x` is the number of people, of models where no one judged; `words` name its line."""
    cells = found.cells
    if not cells:
        raise NotEnough("No team could be formed.", "Collect judgments, or score with models.")
    has_people = any(c.n_humans for c in cells)
    return pd.DataFrame(
        {
            "n_humans": [c.n_humans for c in cells],
            "n_models": [c.n_models for c in cells],
            "accuracy": [c.accuracy for c in cells],
            **ends([c.accuracy_ci95 for c in cells]),
            "n_draws": [c.n_draws for c in cells],
            "x": [c.n_humans if has_people else c.n_models for c in cells],
            "words": [_line(c.n_models) if has_people else "models" for c in cells],
        }
    ).sort_values(["n_models", "n_humans"], ignore_index=True)


def _line(n_models: int) -> str:
    return count(n_models, "model") if n_models else ALONE


def _lines(frame: pd.DataFrame) -> list[str]:
    """Which numbers of models are drawn: all, if they are few, else NUMBERS and the most."""
    lines = dict(zip(frame["words"], frame["n_models"], strict=True))
    if len(lines) <= len(NUMBERS):
        return list(lines)
    most = max(lines.values())
    wanted = {n for n in NUMBERS if n < most} | {most}
    return [name for name, n in lines.items() if n in wanted]


def _colours(lines: list[str]) -> dict[str, str]:
    """People alone in their colour; the last shade for the most models."""
    models = [name for name in lines if name != ALONE]
    shades = [*SHADES[: len(models) - 1], SHADES[-1]] if models else []
    return {ALONE: HUMANS, **dict(zip(models, shades, strict=True))}


def _with_band(lines: list[str]) -> list[str]:
    """Of which lines the band is drawn: of all, if they are few, else of the first two and the last."""
    return lines if len(lines) <= BANDS else [*lines[:2], lines[-1]]


def _chart(frame: pd.DataFrame, with_band: list[str], is_simulated: bool) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    people = "Simulated participants" if is_simulated else "People"
    first, last = int(frame["x"].min()), int(frame["x"].max())
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[first - 0.1, last + 0.1], nice=False),
        axis=alt.Axis(
            title=people if frame["n_humans"].any() else "Models",
            values=list(range(first, last + 1)),
            format="d",
        ),
    )
    y = share_y("accuracy", domain, "Expected share of correct answers")
    colour = alt.Color("colour:N", scale=None, legend=None)
    data = chart(frame)
    layers: list[Any] = [level(CHANCE)]
    banded = frame[frame["words"].isin(with_band)]
    if len(banded):
        area = chart(banded).mark_area(opacity=0.13).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
        layers.append(area.encode(color=colour, detail="words:N"))
    line = data.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="words:N")
    layers += [line, data.mark_point(size=34).encode(x=x, y=y, color=colour)]
    width = FULL - ROOM - 60
    layers += _ends(frame, domain, width)
    return alt.layer(*layers).properties(width=width, height=HEIGHT)


def _ends(frame: pd.DataFrame, domain: list[float], width: int) -> list[Drawn]:
    """Each line's name right of its end, with a thin line to it where names are pushed apart."""
    last = frame.groupby("words", sort=False).tail(1)
    last = last.sort_values(["accuracy", "n_models"], ascending=[False, False])
    px = [HEIGHT * (domain[1] - a) / (domain[1] - domain[0]) for a in last["accuracy"]]
    ends = last.assign(px=px, moved=apart(px, LINE_HEIGHT), start=width + 2, stop=width + 16)
    x, y = alt.X("start:Q", scale=None, axis=None), alt.Y("px:Q", scale=None, axis=None)
    data = chart(ends)
    lead = data.mark_rule(strokeWidth=1.2)
    text = data.mark_text(align="left", dx=4, color=INK)
    moved = alt.Y("moved:Q", scale=None, axis=None)
    return [
        lead.encode(x=x, x2=alt.X2("stop:Q"), y=y, y2=alt.Y2("moved:Q"), color=own_colour()),
        text.encode(x=alt.X("stop:Q", scale=None, axis=None), y=moved, text="words:N"),
    ]


def apart(px: list[float], gap: float) -> list[float]:
    """Ascending places, moved until neighbours are at least `gap` apart: those too near are spread about their mean.

    >>> apart([10, 14, 100], 14)
    [5.0, 19.0, 100.0]
    """
    groups: list[list[float]] = []
    for place in px:
        groups.append([place])
        while len(groups) > 1 and _spread(groups[-1], gap)[0] - _spread(groups[-2], gap)[-1] < gap:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [place for group in groups for place in _spread(group, gap)]


def _spread(group: list[float], gap: float) -> list[float]:
    middle = sum(group) / len(group)
    return [middle + gap * (k - (len(group) - 1) / 2) for k in range(len(group))]
