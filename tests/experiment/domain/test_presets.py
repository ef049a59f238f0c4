"""The paper's study, and what ours does otherwise."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from analysis.management.commands.write_docs import between_marks
from experiment.domain import presets
from experiment.domain.presets import BRAINBENCH, BRAINBENCH_STRICT, DEVIATIONS, RULES, Preset
from experiment.models import Study
from experiment.models.studies import RULE_COLUMNS


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


# Each printed step and exclusion, in order, and the settings that make it so; the others hold of every study
PRINTED: list[tuple[str, dict[str, Any]]] = [
    ("briefing and consent", {}),
    (
        "gender identity, age, country, .*position, years of experience.*",
        {"demographic_fields": ("gender", "age", "country", "position", "experience_years")},
    ),
    ("one practice trial .*left only by the right choice.*", {}),
    (
        "11 trials in random order: 6 human-created, 3 machine-created, 2 catch",
        {"human_items": 6, "machine_items": 3, "catch_items": 2},
    ),
    ("a global counter of uses.*", {"policy": "paper"}),
    ("one click chooses all passages of one version", {}),
    ("then both ratings, required.*", {"ratings_required": True}),
    ("then whether the study had been encountered before", {}),
    ("debrief on which of the trials were right", {"debrief_catch_trials": True}),
    ("then a checkbox about cheating", {}),
    ("not both catch trials right", {"missed_catch": True}),
    ("no slider moved in any trial", {"untouched_sliders": "neither"}),
    ("cheating admitted", {"admitted_cheating": True}),
    ("trials recognised", {"recognised": True}),
    ("trials under 5 s", {"min_rt_ms": 5_000, "min_rt_clock": "page"}),
]


def test_the_strict_preset_does_what_is_printed_item_by_item_in_that_order(
    shared_dir: Path,
) -> None:
    text = (shared_dir / "reference" / "FIGURES.md").read_text(encoding="utf-8")
    section = " ".join(text.split("## The procedure, as printed")[1].split("\n## ")[0].split())
    steps = [step.strip(" .") for step in section.replace(" Excluded:", ";").split(";")]
    for step, (pattern, settings) in zip(steps, PRINTED, strict=True):
        assert re.fullmatch(pattern, step), step
        assert {name: getattr(BRAINBENCH_STRICT, name) for name in settings} == settings, step
