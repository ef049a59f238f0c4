"""The one style of all figures: sizes, type, and who has which colour. A colour never says alone what a label could say."""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

FULL, HALF = 720, 360  # px: two columns and one column of a journal page, 180 and 90 mm
PX_PER_INCH = 25.4 * FULL / 180
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"
ROW = 17  # px from one row of a dot plot to the next

INK, SOFT, LINE, PALE = "#1f2933", "#52606d", "#9aa5b1", "#e4e7eb"
NOTE = "#8a3b00"
HUMANS = "#0b3b40"
MODELS = "#6b7280"  # models taken together
GAINED, LOST = "#0072b2", "#c44f00"
HEAT = ("#f7f8f9", "#cfe0ec", "#6ba3c9", "#1c5f92", "#0a2f4f")  # from 0 to 1
MARKED = "#f6e3b4"  # behind what is to be found: the alternations of a text

_FAMILIES = {
    "Galactica": "#0072b2",
    "Falcon": "#c44f00",
    "Llama-2": "#13805b",
    "Mistral": "#b8509a",
    "TinyLlama": "#8a6a00",
    "Phi-3": "#5a4fcf",
    "GPT-2": "#7a4a2b",
}
_OTHERS = ("#8c1d40", "#5e7a12", "#3d7c9f", "#c2376b", "#4b5563", "#006d77", "#9c6644", "#6a3d9a")


def family_colour(family: str) -> str:
    """The family's colour, whoever else is in the figure: fixed for the published ones, by checksum for others.

    >>> family_colour("Falcon"), family_colour("Falcon") == family_colour("")
    ('#c44f00', False)
    """
    return _FAMILIES.get(family) or _OTHERS[crc32(family.encode()) % len(_OTHERS)]


def family_colours(families: Iterable[str]) -> dict[str, str]:
    """As `family_colour`, but no two families of a figure alike, while there are colours.

    >>> found = family_colours(["A", "J", "Falcon"])
    >>> family_colour("A") == family_colour("J"), len({*found.values()}), found["Falcon"]
    (True, 3, '#c44f00')
    """
    found: dict[str, str] = {}
    for family in sorted(set(families)):
        own = family_colour(family)
        first = _OTHERS.index(own) if own in _OTHERS else 0
        choices = [own] if family in _FAMILIES else [*_OTHERS[first:], *_OTHERS[:first]]
        found[family] = next((c for c in choices if c not in found.values()), own)
    return found


def config() -> dict[str, Any]:
    """Vega-Lite's configuration: white ground, thin grey axes, text of 11 px and more."""
    axis = {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": PALE,
        "gridWidth": 0.7,
        "tickSize": 4,
        "labelLimit": 400,
        "titlePadding": 6,
        "titleLimit": 700,
    }
    return {
        "background": "white",
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"grid": False, "domain": False, "ticks": False},
        "header": {
            "labelFontSize": 11,
            "labelFontWeight": "bold",
            "labelColor": INK,
            "labelPadding": 4,
            "labelLimit": 700,
            "title": None,
        },
        "legend": {
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "labelColor": INK,
            "titleColor": INK,
            "labelLimit": 400,
            "orient": "top",
            "titleOrient": "left",
        },
        "title": {
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 12,
            "fontWeight": "bold",
            "color": NOTE,
            "offset": 8,
            "subtitleFontSize": 11,
        },
        "text": {"fontSize": 11, "color": INK},
        "point": {"filled": True, "size": 48, "opacity": 1},
        "rule": {"color": INK},
    }
