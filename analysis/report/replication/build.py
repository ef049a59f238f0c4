"""Sets the printed beside the recomputed, and writes replication.md."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string

from analysis.data import read
from analysis.data.filters import ReportOptions
from analysis.report.chapter import SourceResults
from analysis.report.replication.facts import Facts, facts
from analysis.report.replication.printed import VALUES, Printed
from analysis.report.replication.recomputed import Recomputed, compute
from analysis.report.replication.table_s3 import table_s3
from experiment.models import Study

AGREES, DIFFERS, ABSENT = "agrees", "differs", "not computed"
NO_REASON = "No reason is known."


@dataclass(frozen=True, slots=True)
class Comparison:
    """A printed value, the recomputed one (None: the data did not support it), and the verdict."""

    section: str
    what: str
    printed: str
    recomputed: float | None
    verdict: str
    note: str


@dataclass(frozen=True, slots=True)
class Replication:
    comparisons: Sequence[Comparison]
    facts: Facts


def replicate(study: Study, results: SourceResults, options: ReportOptions) -> Replication:
    """`results`: those on the human-created test cases of this study."""
    sources = read.read(study, ReportOptions(participants="imported", texts=options.texts))
    recomputed = Recomputed(results, sources["human"])
    rows = [compare(row, recomputed) for row in (*VALUES, *table_s3())]
    return Replication(rows, facts(study, sources, results))


def compare(row: Printed, recomputed: Recomputed) -> Comparison:
    """A printed value beside the recomputed one."""
    value = compute(row.value, recomputed)
    if value is None:
        verdict, note = ABSENT, ""
    elif row.agrees(value):
        verdict, note = AGREES, row.remark
    else:
        verdict, note = DIFFERS, _why(row, recomputed)
    return Comparison(row.section, row.what, row.printed, value, verdict, note)


def _why(row: Printed, recomputed: Recomputed) -> str:
    """The known reason; where it names another value, only if that one is what was printed."""
    if row.instead is None:
        return row.why or NO_REASON
    instead = compute(row.instead, recomputed)
    if instead is None or not row.agrees(instead):
        return NO_REASON
    return f"{row.why} That gives {instead:.7g}."


def markdown(replication: Replication, title: str) -> str:
    """replication.md: what differs first, then everything by section."""
    rows = replication.comparisons
    sections = {
        name: [row for row in rows if row.section == name]
        for name in dict.fromkeys(row.section for row in rows)
    }
    context = {
        "title": title,
        "rows": rows,
        "differing": [row for row in rows if row.verdict == DIFFERS],
        "n_agreeing": sum(row.verdict == AGREES for row in rows),
        "n_absent": sum(row.verdict == ABSENT for row in rows),
        "sections": list(sections.items()),
        "facts": replication.facts,
    }
    return render_to_string("analysis/replication.md", context).rstrip() + "\n"
