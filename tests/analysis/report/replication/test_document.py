"""The sentences of replication.md on properties of the data that could not be computed."""

from analysis.report.replication.build import Replication
from analysis.report.replication.facts import DamagedTexts, Facts, LeftOut, UntouchedSliders
from analysis.report.replication.words import markdown

NOTHING = Facts(
    damaged=DamagedTexts(0, ()),
    left_out=LeftOut(0, 0, 0, 0, 0),
    untouched=UntouchedSliders((), 0),
    other_sections=(),
    exposures=None,
    isolated=None,
    tuning=None,
)


def test_a_value_that_was_not_computed_has_a_verdict_of_its_own():
    text = markdown(Replication((), (), NOTHING), "Memory")
    rows = [line for line in text.splitlines() if "| not computed |" in line]
    absent = [row for row in rows if row.endswith("| not computed | not computed |  |")]
    assert len(absent) == 3
    assert "not as expected" not in text
