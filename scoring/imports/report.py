"""What an import did with models' results, added to what it did with items and people; the keys are a contract."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.report import ImportReport, make_report, render_lines
from scoring.domain.known_models import MODELS, PAPER_MODELS
from scoring.domain.perplexity import Accuracy, accuracy, decide
from scoring.imports.read.results import PublishedModel, PublishedResults, PublishedScores
from scoring.imports.store.published import ImportedAll
from scoring.services.open_model import short_name

CONDITIONS = ("full", "isolated", "swapped")
PAPER_NAMES = {model.name for model in PAPER_MODELS}


@dataclass(frozen=True, slots=True)
class ModelReport:
    """A model, and how often it is right about the full human-created abstracts, where it read them."""

    name: str
    display_name: str
    is_of_paper: bool
    human: Accuracy | None

    def to_json(self) -> dict[str, Any]:
        model = {
            "name": self.name,
            "display_name": self.display_name,
            "is_of_paper": self.is_of_paper,
        }
        if self.human is None:
            return model
        return model | {
            "n_items": self.human.n,
            "n_correct": self.human.n_correct,
            "accuracy": self.human.value,
            "sem": self.human.sem,
        }


@dataclass(frozen=True, slots=True)
class ModelsReport:
    models: Sequence[ModelReport]
    runs: Mapping[str, int]

    @property
    def of_paper(self) -> list[float]:
        return [m.human.value for m in self.models if m.is_of_paper and m.human]

    @property
    def n_of_paper(self) -> int:
        return len(self.of_paper)

    @property
    def accuracy_of_paper(self) -> float | None:
        return fmean(self.of_paper) if self.of_paper else None


@dataclass(frozen=True, slots=True)
class FullReport:
    """Of all that a directory holds; `created`, `absent` and `notes` are of people and models together."""

    people: ImportReport
    models: ModelsReport
    created: Mapping[str, int]
    absent: Sequence[str]
    notes: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        return self.people.to_json() | {
            "models": [model.to_json() for model in self.models.models],
            "runs": self.models.runs,
            "created": self.created,
            "absent": self.absent,
            "notes": self.notes,
        }

    def lines(self) -> list[str]:
        new = ", ".join(f"{name} {n}" for name, n in self.created.items() if n)
        return render_lines(
            "scoring/import_report.txt",
            {
                "report": self.people,
                "models": self.models,
                "created": new,
                "absent": self.absent,
                "notes": self.notes,
            },
        )


def make_full_report(
    data: Published,
    results: PublishedResults,
    slug: str,
    texts: str,
    outcome: ImportedAll | None,
    problems: Sequence[Problem] = (),
) -> FullReport:
    """Of an import, or of a refused one, which has no outcome."""
    people = make_report(data, slug, texts, outcome.people if outcome else None, problems)
    models = outcome.models if outcome else results.models
    rows = outcome.runs if outcome else None
    created = {
        "models": rows.models if rows else 0,
        "runs": rows.runs if rows else 0,
        "scores": rows.scores if rows else 0,
    }
    return FullReport(
        people=people,
        models=ModelsReport([_model(model) for model in models], _runs(models)),
        created=asdict(people.created) | created,
        absent=[*people.absent, *results.absent],
        notes=[*people.notes, *results.notes, *(outcome.notes if outcome else ())],
    )


def _model(model: PublishedModel) -> ModelReport:
    known = MODELS.get(model.name)
    human = [s for s in model.scores if (s.source, s.condition) == ("human", "full")]
    return ModelReport(
        model.name,
        known.display_name if known else short_name(model.name),
        model.name in PAPER_NAMES,
        _accuracy(human[-1]) if human else None,
    )


def _accuracy(scores: PublishedScores) -> Accuracy:
    pairs = zip(scores.original(scores.ppl), scores.altered(scores.ppl), strict=True)
    return accuracy([decide(original, altered) for original, altered in pairs])


def _runs(models: Sequence[PublishedModel]) -> dict[str, int]:
    conditions = [scores.condition for model in models for scores in model.scores]
    return {condition: conditions.count(condition) for condition in CONDITIONS} | {
        "corpus": sum(len(model.corpora) for model in models)
    }
