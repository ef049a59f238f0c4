"""What the documents say of a study, in numbers; templates/lab/documents/ words it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from scipy.special import logit

from analysis.lab.documents import Assumed
from analysis.stats.power import Design, components, interval_width
from experiment.domain.assignment import QUESTION
from experiment.models import Arm, Item, Membership, Study
from experiment.models.arms import ratings_required, trial_counts
from experiment.services.advisers import adviser_of, is_advised
from experiment.services.arms import arms_of
from experiment.services.channels import all_channels
from experiment.services.export.values import columns_of
from experiment.services.readiness import works_by_stratum
from experiment.services.survey import survey_questions
from scoring.services.grading.plans import plan_of, rubric_of

SIZES = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True, slots=True)
class Precision:
    """The width that the 95% interval of mean accuracy is expected to have."""

    n_participants: int
    points: float
    is_target: bool


@dataclass(frozen=True, slots=True)
class Stratum:
    name: str
    per_participant: int
    n_items: int
    n_works: int


def precision(study: Study, assumed: Assumed, n_items: int) -> list[Precision]:
    """By number of valid participants; nothing where no test items are judged."""
    each = study.human_items + study.machine_items
    if n_items < 2 or not each:
        return []
    intercept = float(logit(assumed.accuracy_percent / 100))
    parts = components(intercept, assumed.sd_participants, assumed.sd_items)
    design = Design(n_items, np.array([each]))
    target = study.target_valid or 0
    return [
        Precision(n, 100 * interval_width(parts, design, n), n == target)
        for n in sorted({*SIZES, *([target] if target else [])})
    ]


def context(study: Study, assumed: Assumed, now: datetime) -> dict[str, Any]:
    """For both documents."""
    arms = arms_of(study)
    works = works_by_stratum(study)
    items = study.accepted_items.exclude(kind=Item.Kind.PRACTICE)
    strata = [
        Stratum(name, n, items.of_stratum(name).count(), len(works[name]))
        for name, n in study.trial_counts.items()
        if n
    ]
    n_test = sum(stratum.n_items for stratum in strata if stratum.name not in ("catch", QUESTION))
    return {
        "study": study,
        "is_advised": is_advised(study),
        "adviser": adviser_of(study),
        "consent": study.consent,
        "rules": study.exclusion_rules,
        "rubric": rubric_of(plan_of(study)).name,
        "strata": strata,
        "arms": list(_arms(study)),
        "has_unadvised": any(arm.advice == Arm.Advice.NONE or arm.advised_items for arm in arms),
        "asks_first": any(arm.advice == Arm.Advice.AFTER for arm in arms),
        "survey": survey_questions(study),
        "items_sha256": items_hash(study),
        "n_test": n_test,
        "assumed": assumed,
        "precision": precision(study, assumed, n_test),
        "columns": columns_of(study),
        "members": Membership.objects.filter(study=study).select_related("user").order_by("pk"),
        "channels": all_channels(study),
        "made_at": now,
    }


def _arms(study: Study) -> Iterator[dict[str, Any]]:
    arms = arms_of(study)
    shares = sum(arm.share for arm in arms)
    for arm in arms:
        counts = ", ".join(f"{n} {name}" for name, n in trial_counts(study, arm).items() if n)
        yield {
            "arm": arm,
            "percent": 100 * arm.share / shares,
            "counts": counts,
            "ratings_required": ratings_required(study, arm),
        }


def items_hash(study: Study) -> str:
    """SHA-256 over the key, version and text hash of every test case that can be drawn, in order."""
    rows = study.accepted_items.order_by("key", "version").values_list("key", "version", "sha256")
    text = "".join(f"{key}\t{version}\t{sha256}\n" for key, version, sha256 in rows)
    return hashlib.sha256(text.encode()).hexdigest()
