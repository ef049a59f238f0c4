"""The content of the pages of corpora, trainings and models."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.utils import timezone

from experiment.domain.roles import Right
from experiment.models import Item, Study
from experiment.services.rights import fields_of, studies_with
from lib.formatting import number
from lib.jobs import leases, workers
from lib.jobs.progress import progress
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.perplexity import Accuracy
from scoring.lab import words
from scoring.lab.forms import model_folders
from scoring.lab.run_page import lines
from scoring.lab.training_forms import StudyForm, TrainingForm
from scoring.models import Corpus, LanguageModel, ScoringRun, Training
from scoring.services.model_facts import seen_by
from scoring.services.summary import count, scores_in
from scoring.services.training import models
from scoring.services.training.create import estimate, may_steer

Points = Sequence[tuple[float, float]]
TICKS = 4  # about so many on an axis


def chart(lines: Sequence[tuple[str, Points]]) -> dict[str, Any] | None:
    """Named lines on common axes; None where there is nothing to draw. Numbers that are none are left out.

    A line's `path` is for a polyline in a box of 100 by 100, `dots` are the same places; a tick is `at` so many percent of
    its axis, from left or from above.
    """
    known = [
        (name, [p for p in points if isfinite(p[0]) and isfinite(p[1])]) for name, points in lines
    ]
    drawn = [(name, points) for name, points in known if points]
    if not drawn:
        return None
    x = _Axis.over([x for _, points in drawn for x, _ in points] + [0.0])
    y = _Axis.over([y for _, points in drawn for _, y in points])
    found = []
    for name, points in drawn:
        dots = [(x.percent(a), round(100 - y.percent(b), 2)) for a, b in points]
        found.append({"name": name, "path": " ".join(f"{a},{b}" for a, b in dots), "dots": dots})
    return {
        "lines": found,
        "x_ticks": [{"at": x.percent(value), "value": value} for value in x.ticks],
        "y_ticks": [{"at": round(100 - y.percent(n), 2), "value": n} for n in y.ticks],
    }


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, values: Sequence[float]) -> "_Axis":
        """From the tick below the least number to the one above the greatest.

        >>> _Axis.over([0.46, 0.83]).ticks
        (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        >>> _Axis.over([3.0]).ticks
        (3.0, 4.0)
        """
        step = _step(max(values) - min(values))
        first, last = floor(min(values) / step + 1e-9), -floor(-max(values) / step + 1e-9)
        last = max(last, first + 1)
        ticks = tuple(round(n * step, 10) for n in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    def percent(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)


def _step(width: float) -> float:
    """A round distance of ticks.

    >>> _step(0.37), _step(1000), _step(0)
    (0.1, 200.0, 1.0)
    """
    if width <= 0:
        return 1.0
    rough = width / TICKS
    power = 10 ** floor(log10(rough))
    return float(min((k * power for k in (1, 2, 5, 10)), key=lambda step: abs(step - rough)))


LIST = "excluded.jsonl"


def lines_of(corpus: Corpus) -> list[dict[str, Any]]:
    """The list in the corpus's folder; none where this machine does not have it."""
    try:
        with (corpus.folder / LIST).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except OSError:
        return []


def as_read_by(user: User, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The documents that were left out; of one that gives away a test case which is not for this user, the reason alone."""
    # Test cases that the user may read, in a field or in a study
    of_fields = Q(field__in=fields_of(user).values("name"))
    of_studies = Q(studies__in=studies_with(user, Right.SEE_ITEMS))
    keys = {line["of"] for line in lines if _is_test_case(line)}
    read = Item.objects.filter(of_fields | of_studies, key__in=keys)
    seen = set(read.values_list("key", flat=True))
    rows = [
        line
        if user.is_superuser or line["of"] in seen or not _is_test_case(line)
        else {"reason": line["reason"]}
        for line in lines
    ]
    # Between two numbers, a hidden one is half told
    return sorted(rows, key=lambda row: not row.get("id"))


def _is_test_case(line: dict[str, Any]) -> bool:
    return bool(line["reason"].startswith("test case"))


Status = Training.Status
PER_PAGE = 50
MOST_SHOWN = 8  # lines of a table of statistics
SECTION = {"section": "training"}


def trainings(form: TrainingForm) -> dict[str, Any]:
    rows = Training.objects.select_related("corpus", "base", "language_model")
    return SECTION | {
        "trainings": rows[:PER_PAGE],
        "corpora": Corpus.objects.all(),
        "form": form,
        "bases": [DEMO_NAME, *model_folders()],
        "is_taken": workers.is_taken(Training),
    }


def corpora() -> dict[str, Any]:
    return SECTION | {"corpora": Corpus.objects.annotate(n_trainings=Count("trainings"))}


def corpus(row: Corpus, user: User, page: int | str) -> dict[str, Any]:
    found = row.manifest
    shown = Paginator(as_read_by(user, lines_of(row)), PER_PAGE).get_page(page)
    return SECTION | {
        "corpus": row,
        "manifest": found,
        "years": _in_order(sorted(found.get("years", {}).items())),
        "licences": _shares(found.get("licences", {})),
        "journals": _shares(found.get("journals", {})),
        "reasons": _shares(found.get("excluded", {})),
        "n_excluded": sum(found.get("excluded", {}).values()),
        "versions": [(name, value) for name, value in sorted(found.get("versions", {}).items())],
        "shown": shown,
        "page_numbers": shown.paginator.page_range,
        "trainings": row.trainings.all(),
    }


def training(row: Training, user: User) -> dict[str, Any]:
    now = timezone.now()
    is_stale = row.status == Status.RUNNING and (
        leases.stale(Training.objects.filter(pk=row.pk)).exists()
    )
    # At the rate of the last steps; none until there is one
    rate, left_s = row.tokens_per_s, None
    if row.status == Status.RUNNING and row.done and rate and not is_stale:
        left_s = (row.total - row.done) * row.tokens / row.done / rate
    results = {}
    if not row.is_open:
        seen = studies_with(user, Right.SEE_DATA).order_by("slug")
        results = {
            "on_studies": on_studies(row.language_model, user) if row.language_model else [],
            "study_curves": [curve for study in seen if (curve := _study_curve(row, study))],
        }
    return SECTION | {
        "heading": words.state(row, is_stale=is_stale),
        "pace": words.pace(row, progress(row, now), left_s),
        "rate": f", {number(rate, 0)} tokens per second" if rate else "",
        "training": row,
        "estimate": estimate(row) if row.is_open or not row.total else None,
        "is_stale": is_stale,
        "is_taken": workers.is_taken(Training),
        "percent": 100 * row.done / row.total if row.total else 0.0,
        "may_steer": may_steer(row, user),
        "can_resume": row.status in (Status.FAILED, Status.CANCELLED),
        "recipe": list(lines(row.recipe)),
        "study_form": StudyForm(studies_with(user, Right.WORK)),
        "has_checkpoints": not row.is_open and len(models.kept_steps(row)) > 1,
        "updated_at": now,
        **curves_of(row),
        **results,
    }


def curves_of(row: Training) -> dict[str, Any]:
    """The two curves, and what they come to."""
    points = list(row.points.all())
    loss = [(float(p.tokens), p.loss) for p in points if p.loss is not None]
    held_out = [(float(p.tokens), p.held_out_loss) for p in points if p.held_out_loss is not None]
    return {
        "losses": chart([("loss", loss), ("held-out", held_out)]),
        "measured": [p for p in points if p.held_out_loss is not None],
        "last_point": points[-1] if points else None,
    }


def model(row: LanguageModel, user: User) -> dict[str, Any]:
    made_by = Training.objects.filter(language_model=row).select_related("corpus").first()
    return SECTION | {
        "model": row,
        "training": made_by,
        "manifest": made_by.manifest if made_by else {},
        "tuned": seen_by(row.tuned_versions.filter(checkpoint=None), user),
        "on_studies": on_studies(row, user),
        "study_form": StudyForm(studies_with(user, Right.WORK)),
        **(curves_of(made_by) if made_by else {}),
    }


def on_studies(row: LanguageModel, user: User) -> list[dict[str, Any]]:
    """The studies that the user may see whose whole texts it was scored on; of each its newest run.

    With what it is right about, and what the model that it was made of was `before`.
    """
    found = []
    for study in studies_with(user, Right.SEE_DATA).order_by("slug"):
        after = _newest(row, study)
        if after is not None:
            before = _newest(row.tuned_from, study) if row.tuned_from else None
            shares = {"after": after[1], "before": before[1] if before else None}
            found.append({"study": study, "run": after[0], **shares})
    return found


def _newest(row: LanguageModel, study: Study) -> tuple[ScoringRun, Accuracy] | None:
    run = models.finished_on(row, study).of_models().first()
    if run is None:
        return None
    accuracy = count(scores_in(run, study)).accuracy
    return (run, accuracy) if accuracy.n else None


def _study_curve(row: Training, study: Study) -> dict[str, Any] | None:
    """A training's checkpoints on one study."""
    found = models.results(row, study)
    if not found:
        return None
    accuracy = [(float(one.tokens), 100 * one.accuracy.value) for one in found]
    original = [(float(one.tokens), one.ppl_original) for one in found]
    altered = [(float(one.tokens), one.ppl_altered) for one in found]
    return {
        "study": study,
        "results": found,
        "accuracy": chart([("accuracy", accuracy)]),
        "perplexity": chart([("original", original), ("altered", altered)]),
    }


def _in_order(counts: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Lines of statistics; percent is of the most frequent one."""
    most = max((n for _, n in counts), default=1)
    return [{"label": label, "n": n, "percent": 100 * n / most} for label, n in counts]


def _shares(counts: dict[str, int]) -> list[dict[str, Any]]:
    """The most frequent ones; what is left is one line without a name."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown, rest = ordered[:MOST_SHOWN], ordered[MOST_SHOWN:]
    return _in_order([*shown, ("", sum(n for _, n in rest))] if rest else shown)
