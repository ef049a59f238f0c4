"""Texts stand in their files as short lines, and are read as whole paragraphs."""

from pathlib import Path

import pytest
from django.conf import settings
from django.template import Engine
from django.template.loader import get_template

ROOT = settings.BASE_DIR / "templates"
WRAPPED = [path for path in sorted(ROOT.rglob("*.txt")) if "\n    " in path.read_text()]


def test_lines_that_are_indented_by_four_spaces_are_joined_in_texts_alone(tmp_path: Path) -> None:
    source = "{One\n    two}\n    {{ n }}.\n  four\n\n\tfive\n        six\n"
    engine = Engine(dirs=[str(tmp_path)], loaders=["lib.wrapped.Loader"])
    for name in ("a.txt", "a.html"):
        (tmp_path / name).write_text(source)
    text, page = (engine.get_template(f"a.{ending}").source for ending in ("txt", "html"))
    assert text == "{One two} {{ n }}.\n  four\n\n\tfive\n        six\n"
    assert page == source


def test_a_value_keeps_its_line_breaks() -> None:
    text = "An answer\n    with an indented line"
    assert text in get_template("scoring/grading/answer.txt").render({"text": text})


@pytest.mark.parametrize("path", WRAPPED, ids=lambda path: path.stem)
def test_the_site_reads_its_texts_without_the_line_breaks_of_their_files(path: Path) -> None:
    shown = get_template(str(path.relative_to(ROOT))).render()
    assert shown.strip()
    assert "\n    " not in shown
