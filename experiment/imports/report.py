"""What an import did: typed, as JSON whose keys are a contract, and as lines for people (templates/experiment/import_report.txt)."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.template.loader import render_to_string
from django.urls import reverse

from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import PublishedItem
from experiment.imports.read.trials import Excluded
from experiment.imports.store.published import Created, Imported
from experiment.models import Item, ResearchField

# More than a person reads in one go
MAX_PROBLEMS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class DamagedText:
    """A published text that is not what its authors meant, and the version that takes its place."""

    source: str
    row: int
    doi: str
    reason: str
    repaired: bool
    key: str
    version: int
    status: str
    path: str | None  # of the page on which a person corrects it


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts are of what the directory holds, so a second import counts the same; `created` is of rows."""

    study: str
    texts: str
    items: Mapping[str, int]
    participants: int
    trials: int
    damaged: Sequence[DamagedText]
    excluded_before_publication: Excluded
    created: Created
    absent: Sequence[str]
    notes: Sequence[str]
    problems: Sequence[Problem]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"problems": [problem.as_dict() for problem in self.problems]}


def make_report(
    data: Published,
    slug: str,
    texts: str,
    outcome: Imported | None,
    problems: Sequence[Problem] = (),
) -> ImportReport:
    """Of an import, or of a refused one, which has no outcome."""
    people = data.participants if outcome is None or outcome.trials_stored else ()
    counts = {
        source: sum(item.source == source for item in data.items) for source in ("human", "machine")
    }
    return ImportReport(
        study=slug,
        texts=texts,
        items=counts,
        participants=len(people),
        trials=sum(len(person.trials) for person in people),
        damaged=[_damaged(item, texts, outcome) for item in data.items if item.damage],
        excluded_before_publication=data.excluded,
        created=outcome.created if outcome else Created(),
        absent=list(data.absent),
        notes=[*data.notes, *(outcome.notes if outcome else ())],
        problems=problems,
    )


def _damaged(item: PublishedItem, texts: str, outcome: Imported | None) -> DamagedText:
    assert item.damage is not None
    successor = outcome.successors.get(item.key) if outcome else None
    return DamagedText(
        source=item.source,
        row=item.row.number,
        doi=item.doi,
        reason=item.damage.reason,
        repaired=texts == Item.Texts.REPAIRED and item.damage.repaired is not None,
        key=item.key,
        version=successor.version if successor else 1,
        status=successor.status if successor else Item.Status.ACCEPTED.value,
        path=_page_of(successor) if successor else None,
    )


def _page_of(item: Item) -> str | None:
    research_field = ResearchField.objects.filter(name=item.field).first()
    if research_field is None:
        return None
    return reverse("lab:item", args=[research_field.slug, item.pk])


def render_lines(template: str, context: Mapping[str, Any]) -> list[str]:
    """The lines of a text template; those that only hold its tags are left out."""
    text = render_to_string(template, dict(context))
    return [line for line in text.splitlines() if line.strip()]


def problem_lines(problems: Sequence[Problem], hint: str = "") -> list[str]:
    """`hint`: where the problems are that are too many for these lines."""
    shown = problems[:MAX_PROBLEMS_SHOWN]
    n_more = len(problems) - len(shown)
    context = {"problems": shown, "n": len(problems), "n_more": n_more, "hint": hint}
    return render_lines("experiment/import_problems.txt", context)


def nothing_written(n_problems: int) -> str:
    """What a command ends with that has named the problems."""
    return f"Nothing was written: {n_problems} problem{'' if n_problems == 1 else 's'}."
