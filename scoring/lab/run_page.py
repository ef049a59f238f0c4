"""What the template of a run shows."""

import csv
import io
import math
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from experiment.models import Study
from lib.csv import cell
from lib.jobs import leases, presence
from scoring.domain.perplexity import CHANCE, NEAR_TIE_NATS
from scoring.lab import identity
from scoring.lab.command_lines import resume_command
from scoring.lab.comparison import progress_percent, source_label
from scoring.lab.scale import dot, scale_for
from scoring.models import ItemScore, ScoringRun
from scoring.services.summary import (
    IS_CORRECT,
    IS_NEAR_TIE,
    WithinItem,
    count,
    score_rows,
    scores_in,
    unscored,
    within_item,
)

PAIRS_PER_PAGE = 40
MOST_NAMED = 100  # of what could not be scored; the file holds all
WHICH = {"": gettext_lazy("All"), "wrong": gettext_lazy("Wrong"), "near": gettext_lazy("Near-ties")}
Status = ScoringRun.Status


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of the table of pairs."""

    score: ItemScore

    @property
    def difference_nats(self) -> float:
        """Mean negative log-likelihood of the altered text less that of the original: above 0 is right."""
        return math.log(self.score.ppl_altered) - math.log(self.score.ppl_original)


def run_context(
    study: Study, run: ScoringRun, now: datetime, which: str = "", page: int | str = 1
) -> dict[str, Any]:
    """A run: its settings, how far it is, its results in this study, and what exactly was scored."""
    context = {
        "study": study,
        "is_own": run.study == study,
        "part": "models",
        "run": run,
        "model": run.language_model,
        "is_published": _is_imported(run),
        "source_label": source_label(run.source),
        "model_args": ",".join(f"{name}={value}" for name, value in run.model_args.items()),
        "identity": list(identity.lines(run.identity)),
        "files": identity.files(run.identity),
        "updated_at": now,
        **_progress(run, now),
        **_result(run, study),
    }
    return context if run.is_open else context | _pairs(run, study, which, page)


def _is_imported(run: ScoringRun) -> bool:
    return run.backend == ScoringRun.Backend.IMPORTED


def _progress(run: ScoringRun, now: datetime) -> dict[str, Any]:
    is_stale = (
        run.status == Status.RUNNING and leases.stale(ScoringRun.objects.filter(pk=run.pk)).exists()
    )
    beat = run.heartbeat_at
    return {
        "is_stale": is_stale,
        "progress_percent": progress_percent(run),
        "silent_s": None if beat is None else max(0.0, (now - beat).total_seconds()),
        "left_s": _left_s(run),
        "is_taken": presence.is_taken(ScoringRun),
        "can_resume": run.status in (Status.FAILED, Status.CANCELLED),
        "resume_command": (resume_command(run) if run.study and not _is_imported(run) else ""),
    }


def _left_s(run: ScoringRun) -> float | None:
    """At the rate so far; None until there is one."""
    if run.status != Status.RUNNING or not run.done or not run.scoring_seconds:
        return None
    return run.scoring_seconds * (run.total - run.done) / run.done


def _result(run: ScoringRun, study: Study) -> dict[str, Any]:
    scores = scores_in(run, study)
    counted = count(scores)
    share, texts = counted.accuracy, unscored(run)
    scale = scale_for([(share.value - share.sem, share.value + share.sem)] if share.n else [])
    return {
        "counted": counted,
        "n_elsewhere": run.item_scores.count() - counted.accuracy.n,
        "accuracy_percent": 100 * share.value,
        "sem_percent": 100 * share.sem,
        "dot": dot(share.value, share.sem, scale) if share.n else None,
        "chance_at": scale.percent(CHANCE),
        "ticks": [(scale.percent(tick), f"{tick:.0%}") for tick in scale.ticks],
        "near_tie_nats": NEAR_TIE_NATS,
        "within_item": _within_item(run, scores),
        "unscored": texts[:MOST_NAMED],
        "n_unscored": len(texts),
    }


def _within_item(run: ScoringRun, scores: "QuerySet[ItemScore]") -> WithinItem | None:
    if run.condition != ScoringRun.Condition.ISOLATED or run.is_open:
        return None
    averages = within_item(scores)
    return averages if averages.n_items else None


def _pairs(run: ScoringRun, study: Study, which: str, page: int | str) -> dict[str, Any]:
    """A page of the pairs of texts; of all, or of those that went wrong or nearly so."""
    scores = _chosen(scores_in(run, study), which).select_related("item")
    scores = scores.order_by("item__key", "unit")
    shown = Paginator(scores, PAIRS_PER_PAGE).get_page(page)
    return {
        "which": which,
        "whiches": WHICH,
        "shown": shown,
        "page_numbers": shown.paginator.page_range,
        "pairs": [Pair(score) for score in shown.object_list],
        "has_sentences": run.condition == ScoringRun.Condition.ISOLATED,
    }


def _chosen(scores: "QuerySet[ItemScore]", which: str) -> "QuerySet[ItemScore]":
    if which == "wrong":
        return scores.exclude(IS_CORRECT)
    return scores.filter(IS_NEAR_TIE) if which == "near" else scores


def scores_csv(run: ScoringRun, study: Study) -> str:
    """One line per pair of texts that the study shows, as the command's `--json` has them; numbers are whole."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    rows = [asdict(row) for row in score_rows(run, study)]
    names = ["run", "model", *(rows[0] if rows else ("item", "unit")), "correct"]
    writer.writerow(names)
    for row in rows:
        about = {"run": run.pk, "model": run.language_model.name, **row}
        about["correct"] = row["ppl_original"] < row["ppl_altered"]
        writer.writerow([cell(about[name]) for name in names])
    return stream.getvalue()
