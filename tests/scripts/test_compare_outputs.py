"""What counts as the same between two captures."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripts.compare_outputs import compare, facts

REPORT = {"made_at": "2026-01-01", "accuracy": 0.634, "n": 171, "label": "people"}
PAGE = """<main><h1>Results</h1><section id="people"><p>63.4% of 171 people. Computed on 1 May 2026, 12:30 UTC.</p>
<table><tr><th>who</th><th>right</th></tr><tr><td>faculty</td><td>0.66</td></tr></table>
<svg><rect width="63.40"/></svg><a href="figures/a.svg?v=abc&amp;source=human">SVG</a></section><p>1 study</p></main>"""


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "before", tmp_path / "after"


def outcome(sides: tuple[Path, Path], name: str, texts: tuple[str, str], allow: str = "") -> int:
    for home, text in zip(sides, texts, strict=True):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    file = sides[0].parent / "allow"
    file.write_text(allow)
    return compare(*sides, 1e-9, file)


def of_report(sides: tuple[Path, Path], allow: str = "", **changed: Any) -> int:
    texts = (json.dumps(REPORT), json.dumps(REPORT | changed))
    return outcome(sides, "reports/demo/report.json", texts, allow)


def test_equal_values_are_equal_whenever_they_were_made(sides):
    assert of_report(sides, made_at="2026-02-02") == 0


def test_a_float_may_differ_within_the_tolerance_and_is_told(sides, capsys):
    assert of_report(sides, accuracy=0.634 + 1e-12) == 0
    assert "within (1):\n  reports/demo/report.json.accuracy" in capsys.readouterr().out


@pytest.mark.parametrize(
    "changed", [{"accuracy": 0.6341}, {"n": 172}, {"n": 171.0}, {"label": "People"}, {"more": 1}]
)
def test_another_value_type_or_key_is_a_difference(sides, changed):
    assert of_report(sides, **changed) == 1


def test_what_was_changed_on_purpose_is_told_apart_and_needs_a_reason(sides, capsys):
    allowed = "reports/*/report.json.n"
    assert of_report(sides, f"{allowed}  # one more person\n", n=172) == 0
    assert "allowed (1)" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        of_report(sides, allowed, n=172)


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("teams/a/t.csv", "who,p\nx,0.5\n", "who,p\nx,0.5000000000001\n", 0),
        ("teams/a/t.csv", "who,p\nx,0.5\n", "who,p\nx,0.6\n", 1),
        ("teams/a/t.csv", "who,p\nx,0.5\n", "who,p\nx,0.5\ny,0.5\n", 1),
        ("exports/a/t.csv", "p\n0.5\n", "p\n0.5000000000001\n", 1),
        ("exports/a/t.csv", "p\n0.5\n", "p\n0.5\r\n", 1),
        ("reports/a/f.svg", '<path d="M1.5,2"/>', '<path d="M1.5000000000001,2"/>', 0),
        ("reports/a/f.svg", '<path d="M1.5,2"/>', '<line d="M1.5,2"/>', 1),
        ("teams/a/printed.txt", "63 of 171 right", "right were 63 out of 171", 0),
    ],
)
def test_files_are_compared_as_their_kind_asks(sides, name, before, after, expected):
    assert outcome(sides, name, (before, after)) == expected


def test_a_file_on_one_side_only_is_a_difference_and_so_is_nothing_at_all(sides):
    assert compare(*sides, 1e-9, None) == 1
    assert of_report(sides) == 0
    (sides[1] / "reports/demo/report.json").unlink()
    assert compare(*sides, 1e-9, None) == 1


def test_a_page_comes_down_to_numbers_cells_and_links():
    found = facts(PAGE)
    assert {name: list(found) for name, found in found["numbers"].items()} == {
        "people": ["171", "63.4", "63.40"],
        "body": ["1"],
    }
    assert list(found["tables"]) == ["0.66", "faculty", "right", "who"]
    assert list(found["links"]) == ["figures/a.svg?source=human"]


@pytest.mark.parametrize(
    ("allow", "change", "expected"),
    [
        ("+ *.new # added", {"new": 1}, 0),
        ("*.new # changed alone", {"new": 1}, 1),
        ("- *.n # gone", {"n": 172}, 1),
        ("*.n # changed", {"n": 172}, 0),
    ],
)
def test_what_is_added_gone_or_changed_is_allowed_apart(sides, allow, change, expected):
    assert of_report(sides, allow=allow, **change) == expected


@pytest.mark.parametrize(
    ("word", "instead", "expected"),
    [
        ("people.", "participants.", 0),
        ("1 May", "2 May", 0),
        ("171", "172", 1),
        ("0.66", "0.67", 1),
        ("faculty", "staff", 1),
        ("63.40", "63.41", 1),
        ("human", "machine", 1),
    ],
)
def test_the_wording_of_a_page_may_change_but_no_fact(sides, word, instead, expected):
    assert outcome(sides, "pages/p.html", (PAGE, PAGE.replace(word, instead))) == expected
