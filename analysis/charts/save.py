"""A figure as SVG, PNG or PDF, all from one specification, drawn here without a network or a browser."""

import json
from math import isnan
from typing import Any

import vl_convert as vlc

from analysis.charts.figure import Figure
from analysis.charts.text_widths import fix_widths

VEGA_LITE = "6.4"
NO_NETWORK: list[str] = []


def specification(figure: Figure, *, check: bool = False) -> dict[str, Any]:
    """The figure's Vega-Lite specification, its data within; with `check`, held against the schema, which takes as long."""
    found: dict[str, Any] = figure.chart.to_dict(validate=check)
    for rows in found.get("datasets", {}).values():
        for row in rows:
            # Altair leaves the NaN of missing texts, which JSON does not have
            row.update({k: None for k, v in row.items() if isinstance(v, float) and isnan(v)})
    return found


def svg(specified: dict[str, Any]) -> str:
    drawn = vlc.vegalite_to_svg(
        json.dumps(specified), vl_version=VEGA_LITE, allowed_base_urls=NO_NETWORK
    )
    return fix_widths(drawn)


def png(specified: dict[str, Any], ppi: int = 200) -> bytes:
    """200 dots per inch are 2.8 dots per px: enough for print at the figure's own width."""
    drawn: bytes = vlc.vegalite_to_png(
        json.dumps(specified), vl_version=VEGA_LITE, ppi=ppi, scale=1, allowed_base_urls=NO_NETWORK
    )
    return drawn


def pdf(specified: dict[str, Any]) -> bytes:
    drawn: bytes = vlc.vegalite_to_pdf(
        json.dumps(specified), vl_version=VEGA_LITE, allowed_base_urls=NO_NETWORK
    )
    return drawn
