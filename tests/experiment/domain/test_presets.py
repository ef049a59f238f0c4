"""The paper's study, and what ours does otherwise."""

from dataclasses import fields
from pathlib import Path

import pytest

from experiment.domain import presets
from experiment.domain.presets import BRAINBENCH, BRAINBENCH_STRICT, DEVIATIONS, RULES, Preset
from experiment.models import Study
from experiment.models.studies import RULE_COLUMNS
from lib.generated import between_marks


def test_our_preset_differs_from_the_papers_in_the_deviations_and_nowhere_else() -> None:
    differing = {
        f.name
        for f in fields(Preset)
        if getattr(BRAINBENCH, f.name) != getattr(BRAINBENCH_STRICT, f.name)
    }
    assert differing == {deviation.setting for deviation in DEVIATIONS}
    assert len(DEVIATIONS) == len(differing)
    assert all(deviation.reason.endswith(".") for deviation in DEVIATIONS)


def test_every_setting_is_a_column_of_the_study() -> None:
    columns = {f.name for f in Study._meta.get_fields()}
    assert set(BRAINBENCH_STRICT.settings) <= columns
    assert set(RULES) <= set(RULE_COLUMNS)


def test_the_table_has_a_row_for_each_setting_and_each_deviation_with_its_reason() -> None:
    rows = presets.as_markdown().split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(fields(Preset))
    for deviation in DEVIATIONS:
        assert sum(deviation.reason in row for row in rows) == 1
    assert sum("the same" in row for row in rows) == len(rows) - len(DEVIATIONS)


def test_a_page_without_its_marks_is_not_written() -> None:
    begin, end = "<!-- begin: manage.py c -->\n", "<!-- end: manage.py c -->\n"
    for page in ("", begin, end + begin):
        with pytest.raises(ValueError, match="once each"):
            between_marks(page, "c", "new\n")


PRINTED = [
    ("not both catch", "missed_catch", True),
    ("no slider moved", "untouched_sliders", "neither"),
    ("cheating", "admitted_cheating", True),
    ("recognised", "recognised", True),
    ("under 5 s", "min_rt_ms", 5_000),
]


def test_the_strict_preset_excludes_by_the_printed_rules(shared_dir: Path) -> None:
    text = (shared_dir / "reference" / "FIGURES.md").read_text(encoding="utf-8")
    section = " ".join(text.split("## The procedure, as printed")[1].split("\n## ")[0].split())
    printed = [rule.strip(" .") for rule in section.split("Excluded:")[1].split(";")]
    for clause, (words, name, value) in zip(filter(None, printed), PRINTED, strict=True):
        assert words in clause
        assert getattr(BRAINBENCH_STRICT, name) == value, clause
