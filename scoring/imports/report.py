"""The report of an import of models' results, added to that of items and people; the keys are a contract."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from experiment.imports.lines import report_lines
from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.report import ImportReport, make_report
from lib.formatting import percent
from scoring.domain.conditions import CONDITIONS
from scoring.domain.known_models import MODELS, PAPER_MODELS
from scoring.domain.perplexity import accuracy, decide
from scoring.imports.read.results import PublishedModel, PublishedResults
from scoring.imports.store.published import ImportedAll
from scoring.imports.store.runs import StoredRuns
from scoring.services.open_model import short_name

PAPER_NAMES = {model.name for model in PAPER_MODELS}


@dataclass(frozen=True, slots=True)
class FullReport:
    """The report on all that a directory holds; `created`, `absent` and `notes` are of people and models together.

    models: each, and how often it is right about the full human-created abstracts, where it read them.
    """

    people: ImportReport
    models: Sequence[Mapping[str, Any]]
    runs: Mapping[str, int]
    created: Mapping[str, int]
    absent: Sequence[str]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        own = ("models", "runs", "created", "absent", "notes")
        return self.people.to_json() | {name: getattr(self, name) for name in own}

    def lines(self) -> list[str]:
        runs, models = self.runs, list[str]()
        if self.models:
            models.append(
                f"{len(self.models)} language models with {runs['full']} runs on full abstracts, {runs['isolated']} on isolated sentences, "
                f"{runs['swapped']} with swapped context and {runs['corpus']} on reference corpora"
            )
        shares = [m["accuracy"] for m in self.models if m["is_of_paper"] and "accuracy" in m]
        if shares:
            models.append(
                f"On average, the paper's models ({len(shares)} are here) choose correctly in {percent(fmean(shares))} of the "
                "human-created test cases."
            )
        return report_lines(
            self.people,
            more=models,
            created=", ".join(f"{name} {n}" for name, n in self.created.items() if n),
            absent=self.absent,
            notes=self.notes,
        )


def make_full_report(
    data: Published,
    results: PublishedResults,
    slug: str,
    texts: str,
    outcome: ImportedAll | None,
    problems: Sequence[Problem] = (),
) -> FullReport:
    """The report of an import, or of a refused one, which has no outcome."""
    people = make_report(data, slug, texts, outcome.people if outcome else None, problems)
    models = outcome.models if outcome else results.models
    rows = outcome.runs if outcome else StoredRuns()
    conditions = [scores.condition for model in models for scores in model.scores]
    n_corpora = sum(len(model.corpora) for model in models)
    return FullReport(
        people=people,
        models=[_model(model) for model in models],
        runs={**{name: conditions.count(name) for name in CONDITIONS}, "corpus": n_corpora},
        created=asdict(people.created)
        | {"models": rows.models, "runs": rows.runs, "scores": rows.scores},
        absent=[*people.absent, *results.absent],
        notes=[*people.notes, *results.notes, *(outcome.notes if outcome else ())],
    )


def _model(model: PublishedModel) -> dict[str, Any]:
    known = MODELS.get(model.name)
    about = {
        "name": model.name,
        "display_name": known.display_name if known else short_name(model.name),
        "is_of_paper": model.name in PAPER_NAMES,
    }
    human = [s for s in model.scores if (s.source, s.condition) == ("human", "full")]
    if not human:
        return about
    ppl = human[-1].ppl
    both = zip(human[-1].original(ppl), human[-1].altered(ppl), strict=True)
    found = accuracy([decide(original, altered) for original, altered in both])
    shares = {"accuracy": found.value, "sem": found.sem}
    return about | {"n_items": found.n, "n_correct": found.n_correct, **shares}
