"""The widths by which texts are held to their place are those that charts are laid out with."""

import re

import pytest
import vl_convert as vlc

from analysis.charts.rows import rows_of
from analysis.charts.style import FONT
from analysis.charts.texts import BOLD_WIDTHS, WIDTHS, fix_widths, width_px
from analysis.data.dataset import ModelName


def laid_out_px(text: str, weight: str) -> float:
    """The width of a picture that holds this text alone: as wide as the layout takes the text to be."""
    spec = {
        "width": 1,
        "height": 1,
        "padding": 0,
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "align": "left",
            "text": text,
            "font": FONT,
            "fontSize": 100,
            "fontWeight": weight,
        },
        "encoding": {"x": {"value": 0}},
        "config": {"view": {"stroke": None}},
    }
    return float(re.search(r'width="([\d.]+)"', vlc.vegalite_to_svg(spec))[1])


@pytest.mark.parametrize(("weight", "widths"), [("normal", WIDTHS), ("bold", BOLD_WIDTHS)])
def test_each_letter_is_as_wide_as_the_layout_takes_it_to_be(weight, widths):
    letters = [c for c in widths if not c.isspace()]
    # In runs, since each picture costs a moment; pairs such as 11 are drawn a little closer together
    for start in range(0, len(letters), 7):
        text = "".join(c * 3 for c in letters[start : start + 7])
        ours = width_px(text, 100, bold=weight == "bold")
        assert laid_out_px(text, weight) == pytest.approx(ours, rel=0.02), text


def test_an_unknown_letter_leaves_the_text_to_the_font():
    assert (
        fix_widths('<text font-size="11px">Δ = 0.5</text>')
        == '<text font-size="11px">Δ = 0.5</text>'
    )


def test_escaped_letters_count_as_what_they_stand_for():
    assert f'textLength="{width_px("p < 1", 10):.2f}"' in fix_widths(
        '<text font-size="10px">p &lt; 1</text>'
    )


def test_models_with_the_same_name_keep_rows_of_their_own():
    rows = rows_of(
        [ModelName(name, "Model", "Model", "perplexity") for name in "abc"], ["All judgments"]
    )
    assert len(set(rows.domain)) == len(rows.domain) == 3 + 1 + 2
