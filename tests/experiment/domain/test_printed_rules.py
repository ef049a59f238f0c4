"""The strict preset excludes by the rules that the paper prints."""

from pathlib import Path

from experiment.domain.presets import BRAINBENCH_STRICT

RULES = [
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
    for clause, (words, name, value) in zip(filter(None, printed), RULES, strict=True):
        assert words in clause
        assert getattr(BRAINBENCH_STRICT, name) == value, clause
