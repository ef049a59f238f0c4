"""A figure as SVG, PNG or PDF, all from one specification, drawn here without a network or a browser.

PNG and PDF are drawn from the SVG, at the width of a journal's one or two columns (see `style`).
"""

import json
from collections.abc import Mapping
from html import escape
from io import BytesIO
from math import atan2, cos, degrees, isnan, radians, sin
from typing import Any

import vl_convert as vlc
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pypdf import PdfReader, PdfWriter

from analysis.charts.figure import Figure
from analysis.charts.style import FULL, INK, PX_PER_INCH
from analysis.charts.texts import all_drawable, drawable, fix_widths

VEGA_LITE = "6.4"
NO_NETWORK: list[str] = []
PNG_PPI = 300
POINTS_PER_INCH = 72
STEEPEST = radians(24)  # of a watermark
VL_PPI = 72  # what vl-convert takes for one px per dot


def specification(figure: Figure, *, check: bool = False) -> dict[str, Any]:
    """The figure's Vega-Lite specification, its data within; with `check`, held against the schema, which takes as long."""
    found: dict[str, Any] = figure.chart.to_dict(validate=check)
    for rows in found.get("datasets", {}).values():
        for row in rows:
            # Altair leaves the NaN of missing texts, which JSON does not have
            row.update({k: None for k, v in row.items() if isinstance(v, float) and isnan(v)})
    specified: dict[str, Any] = all_drawable(found)
    return specified


def svg(specified: dict[str, Any], *, description: str = "", watermark: str = "") -> str:
    """The picture; `description` is not seen, `watermark` is drawn faintly across it."""
    drawn = vlc.vegalite_to_svg(
        json.dumps(specified), vl_version=VEGA_LITE, allowed_base_urls=NO_NETWORK
    )
    drawn = fix_widths(drawn)
    if watermark:
        # Towards the picture's upper right corner, within it: a letter is about .7 of its size wide
        width, height = size_px(drawn)
        turn = min(atan2(height, width), STEEPEST)
        long = 0.7 * len(watermark)
        size = 0.8 * min(
            width / (long * cos(turn) + sin(turn)),
            height / (long * sin(turn) + cos(turn)),
            FULL / 12,
        )
        centre = f"{width / 2:.0f} {height / 2:.0f}"
        across = (
            f'<text class="watermark" x="{width / 2:.0f}" y="{height / 2:.0f}" transform="rotate({-degrees(turn):.0f} {centre})"'
            f' text-anchor="middle" dominant-baseline="middle" font-family="Arial, Helvetica, sans-serif" font-weight="bold"'
            f' font-size="{size:.0f}px" fill="{INK}" fill-opacity="0.09" pointer-events="none">{escape(watermark)}</text>'
        )
        head, end = drawn.rsplit("</svg>", 1)
        drawn = f"{head}{across}</svg>{end}"
    if description:
        at = drawn.index(">") + 1
        drawn = f"{drawn[:at]}<desc>{escape(drawable(description))}</desc>{drawn[at:]}"
    return drawn


def size_px(drawn: str) -> tuple[float, float]:
    """Width and height of an SVG that `svg` made."""
    box = drawn[drawn.index('viewBox="') + len('viewBox="') :]
    _, _, width, height = (float(x) for x in box[: box.index('"')].split())
    return width, height


def png(drawn: str, words: Mapping[str, str], *, ppi: int = PNG_PPI) -> bytes:
    """The SVG at `ppi` dots per inch of print; `words` are stored in the file by PNG's keywords (Title, Description, ...)."""
    dots: bytes = vlc.svg_to_png(drawn, scale=ppi / PX_PER_INCH, ppi=VL_PPI)
    info = PngInfo()
    for key, text in words.items():
        info.add_itxt(key, text)
    file = BytesIO()
    with Image.open(BytesIO(dots)) as image:
        image.convert("RGB").save(file, "PNG", pnginfo=info, dpi=(ppi, ppi), optimize=True)
    return file.getvalue()


def pdf(drawn: str, words: Mapping[str, str]) -> bytes:
    """The SVG at its width in print, its fonts within; `words` become the document's information."""
    writer = PdfWriter()
    for page in PdfReader(BytesIO(vlc.svg_to_pdf(drawn))).pages:
        writer.add_page(page).scale_by(POINTS_PER_INCH / PX_PER_INCH)
    writer.add_metadata({f"/{key.replace(' ', '')}": text for key, text in words.items()})
    file = BytesIO()
    writer.write(file)
    return file.getvalue()
