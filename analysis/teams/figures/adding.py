"""Gains by people: added to each language model, and by how many people and models are in a team."""

from typing import Any

import altair as alt
import pandas as pd

from analysis.charts.figure import Figure
from analysis.charts.marks import (
    CHANCE,
    Drawn,
    chart,
    flag,
    level,
    note,
    own_colour,
    points_axis,
    share_domain,
    share_x,
    share_y,
    spread,
    upright,
    x_of,
)
from analysis.charts.rows import Rows, dots_with_intervals, rows_of
from analysis.charts.style import FULL, HUMANS, INK, family_colour
from analysis.presentation import make_figure, plain
from analysis.stats import NotEnough
from analysis.teams.figures.accuracy import ends, main_method, teams_by_method
from analysis.teams.figures.captions import adding_text, sizes_text
from analysis.teams.results import Method, Sizes, TeamResults
from lib.formatting import count


def adding(results: TeamResults, is_simulated: bool) -> Figure:
    """Models by family: left, accuracy alone and with a human; right, the difference with its 95% interval."""
    by_method = teams_by_method(results)
    method = main_method(by_method)
    accuracy = {
        r.team.label: r.accuracy for m in (Method.ALONE, method) if m in by_method for r in by_method[m]
    }  # fmt: skip
    rows = {
        row.team.label: row
        for row in results.adding_human
        if row.method == method and row.team.label in accuracy and row.with_human in accuracy
    }
    models = [m.member for m in results.members if not m.member.is_human and m.name in rows]
    if not models:
        raise NotEnough(
            "No language model was evaluated with and without a human.",
            "Choose a human and a language model as members.",
        )
    labelled, of_models = rows_of(models), [rows[m.name] for m in models]
    frame = pd.DataFrame(
        {
            "row": [labelled.label[m.name] for m in models],
            "name": [m.name for m in models],
            "family": [m.family for m in models],
            "n": [row.gain.n for row in of_models],
            "alone": [accuracy[row.team.label] for row in of_models],
            "with_human": [accuracy[row.with_human] for row in of_models],
            "difference": [row.gain.value for row in of_models],
            **ends([row.gain.ci95 for row in of_models]),
            "p": [row.gain.p for row in of_models],
            "p_holm": [row.p_holm for row in of_models],
            "verdict": [row.verdict.value if row.verdict else None for row in of_models],
            "colour": [family_colour(m.family) for m in models],
        }
    )
    text = adding_text(
        int(frame["n"].max()),
        frame["difference"].tolist(),
        frame["verdict"].tolist(),
        method,
        is_simulated=is_simulated,
    )
    drawn = _adding_chart(frame, labelled, is_simulated)
    return make_figure("teams_adding", drawn, text, plain(frame))


def _adding_chart(frame: pd.DataFrame, rows: Rows, is_simulated: bool) -> Drawn:
    width = (FULL - rows.width - 64) // 2
    data = chart(frame)
    domain = share_domain([*frame["alone"], *frame["with_human"]], ())
    lines = data.mark_rule(strokeWidth=1.4).encode(
        x=alt.X("alone:Q"), x2="with_human:Q", y=rows.y(), color=own_colour()
    )
    before = data.mark_tick(thickness=2, height=11).encode(
        x=share_x("alone", domain, "Correct answers"), y=rows.y(), color=own_colour()
    )
    after = data.mark_point().encode(x=alt.X("with_human:Q"), y=rows.y(), color=own_colour())
    person = "simulated participant" if is_simulated else "human"
    label = note(f"tick: model alone, dot: with a {person}", 0, -4, align="left", baseline="bottom")
    left = alt.layer(lines, before, after, label).properties(width=width, height=rows.height)
    span = spread([*frame["low"], *frame["high"], *frame["difference"]], must=[0])
    x = x_of("difference", span, points_axis("Change"))
    y = rows.y(labels=False, minExtent=0, maxExtent=0)
    right = alt.layer(upright(0.0), flag(0.0, "no change"), dots_with_intervals(data, x, y))
    return alt.hconcat(left, right.properties(width=width, height=rows.height), spacing=16)


ALONE = "people alone"
# Of one model, ..., of the most: lighter ones first, and no two alike in hue
SHADES = ("#5fb3d9", "#e69f00", "#c2527e", "#6a3d9a", "#0b2e59")
HEIGHT, ROOM = 280, 120  # px; for the words right of the plot
LINE_HEIGHT = 14
NUMBERS = (0, 1, 2, 3, 5, 10)  # of models, a line each
BANDS = 4  # lines up to which each has its band


def sizes(found: Sizes, is_simulated: bool) -> Figure:
    """Accuracy over the number of people, a line per number of models that is named at its end; people alone in their colour."""
    frame = _sizes_frame(found)
    # All numbers of models are drawn, if they are few, else some and the most
    numbers = dict(zip(frame["words"], frame["n_models"], strict=True))
    wanted = {n for n in NUMBERS if n < max(numbers.values())} | {max(numbers.values())}
    if len(numbers) <= len(NUMBERS):
        wanted = set(numbers.values())
    lines = [name for name, n_models in numbers.items() if n_models in wanted]
    # People alone in their colour; the last shade for the most models
    of_models = [name for name in lines if name != ALONE]
    shades = [*SHADES[: len(of_models) - 1], SHADES[-1]] if of_models else []
    colours = {ALONE: HUMANS, **dict(zip(of_models, shades, strict=True))}
    shown = frame[frame["words"].isin(lines)]
    shown = shown.assign(colour=shown["words"].map(colours))
    # The band is drawn of all lines, if they are few, else of the first two and the last
    banded = lines if len(lines) <= BANDS else [*lines[:2], lines[-1]]
    with_band = banded if frame["low"].notna().any() else []
    some = "" if len(with_band) == len(lines) else f" (of {', '.join(with_band)})"
    text = sizes_text(
        found,
        int(frame["n_humans"].max()),
        [
            (str(name), line.iloc[[0, -1] if len(line) > 1 else [0]].to_dict("records"))
            for name, line in shown.groupby("words", sort=False)
        ],
        f"Bands{some}" if with_band else "",
        is_short=len(shown) < len(frame),
        is_simulated=is_simulated,
    )
    drawn = _sizes_chart(shown, with_band, is_simulated)
    return make_figure("teams_sizes", drawn, text, plain(frame.drop(columns=["words", "x"])))


def _sizes_frame(found: Sizes) -> pd.DataFrame:
    """A row per size; `x` is the number of people, of models where no one judged; `words` name its line."""
    cells = found.cells
    if not cells:
        raise NotEnough("No team could be formed.", "Collect judgments, or score with models.")
    has_people = any(c.n_humans for c in cells)
    named = {c.n_models: count(c.n_models, "model") for c in cells} | {0: ALONE}
    return pd.DataFrame(
        {
            "n_humans": [c.n_humans for c in cells],
            "n_models": [c.n_models for c in cells],
            "accuracy": [c.accuracy for c in cells],
            **ends([c.accuracy_ci95 for c in cells]),
            "n_draws": [c.n_draws for c in cells],
            "x": [c.n_humans if has_people else c.n_models for c in cells],
            "words": [named[c.n_models] if has_people else "models" for c in cells],
        }
    ).sort_values(["n_models", "n_humans"], ignore_index=True)


def _sizes_chart(frame: pd.DataFrame, with_band: list[str], is_simulated: bool) -> Drawn:
    domain = share_domain([*frame["low"], *frame["high"], *frame["accuracy"]])
    people = "Simulated participants" if is_simulated else "People"
    first, last = int(frame["x"].min()), int(frame["x"].max())
    axis = alt.Axis(
        title=people if frame["n_humans"].any() else "Models",
        values=list(range(first, last + 1)),
        format="d",
    )
    x = x_of("x", [first - 0.1, last + 0.1], axis)
    y = share_y("accuracy", domain, "Expected share of correct answers")
    colour = own_colour()
    data = chart(frame)
    layers: list[Any] = [level(CHANCE)]
    banded = frame[frame["words"].isin(with_band)]
    if len(banded):
        area = chart(banded).mark_area(opacity=0.13).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
        layers.append(area.encode(color=colour, detail="words:N"))
    line = data.mark_line(strokeWidth=1.8).encode(x=x, y=y, color=colour, detail="words:N")
    layers += [line, data.mark_point(size=34).encode(x=x, y=y, color=colour)]
    width = FULL - ROOM - 60

    # Each line's name right of its end, with a thin line to it where names are pushed apart
    longest = frame.groupby("words", sort=False).tail(1)
    longest = longest.sort_values(["accuracy", "n_models"], ascending=[False, False])
    px = [HEIGHT * (domain[1] - a) / (domain[1] - domain[0]) for a in longest["accuracy"]]
    ends = longest.assign(px=px, moved=apart(px, LINE_HEIGHT), start=width + 2, stop=width + 16)
    named = chart(ends)
    start, stop = (alt.X(f"{end}:Q", scale=None, axis=None) for end in ("start", "stop"))
    at, moved = (alt.Y(f"{end}:Q", scale=None, axis=None) for end in ("px", "moved"))
    layers += [
        named.mark_rule(strokeWidth=1.2).encode(
            x=start, x2=alt.X2("stop:Q"), y=at, y2=alt.Y2("moved:Q"), color=colour
        ),
        named.mark_text(align="left", dx=4, color=INK).encode(x=stop, y=moved, text="words:N"),
    ]
    return alt.layer(*layers).properties(width=width, height=HEIGHT)


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
