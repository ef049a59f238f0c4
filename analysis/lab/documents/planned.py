"""A study's set-up as the documents describe it: what is planned, and how precise it will be."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from scipy.special import logit

from analysis.stats.power import Design, components, interval_width
from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import Rules
from experiment.domain.export_columns import Column
from experiment.domain.forecast import Duration
from experiment.models import (
    Adviser,
    Arm,
    Channel,
    ConsentVersion,
    Item,
    Membership,
    Study,
    SurveyQuestion,
)
from experiment.models.arms import ratings_required, trial_counts
from experiment.services.advisers import adviser_of, is_advised
from experiment.services.arms import arms_of
from experiment.services.channels import all_channels
from experiment.services.counts import study_minutes
from experiment.services.curation.reviews import not_reviewed
from experiment.services.export.values import columns_of
from experiment.services.readiness import works_by_stratum
from experiment.services.survey import survey_questions
from scoring.services.grading.plans import plan_of, rubric_of

SIZES = (25, 50, 100, 200, 400, 800)


@dataclass(frozen=True, slots=True)
class Assumed:
    """Assumptions on the typical participant on the typical test case, and how much both vary (SD in log-odds)."""

    accuracy_percent: float
    sd_participants: float
    sd_items: float


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


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """`counts`: trials by stratum, as words."""

    arm: Arm
    percent: float
    counts: str
    ratings_required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A study's set-up as it is now, for both documents.

    asks_first: whether an arm is advised after a first answer; n_test: test cases that are neither catch trials nor questions.
    """

    study: Study
    assumed: Assumed
    made_at: datetime
    consent: ConsentVersion | None
    rules: Rules
    adviser: Adviser | None
    is_advised: bool
    has_unadvised: bool
    asks_first: bool
    arms: Sequence[PlannedArm]
    strata: Sequence[Stratum]
    n_test: int
    precision: Sequence[Precision]
    survey: Sequence[SurveyQuestion]
    rubric: str
    items_sha256: str
    not_reviewed: str
    columns: Sequence[Column]
    members: Sequence[Membership]
    channels: Sequence[Channel]
    duration: Duration

    @property
    def is_compared(self) -> bool:
        return len(self.arms) > 1


def planned(study: Study, assumed: Assumed, now: datetime) -> Planned:
    arms = arms_of(study)
    works = works_by_stratum(study)
    items = study.accepted_items.exclude(kind=Item.Kind.PRACTICE)
    strata = [
        Stratum(name, n, items.of_stratum(name).count(), len(works[name]))
        for name, n in study.trial_counts.items()
        if n
    ]
    shares = sum(arm.share for arm in arms)
    planned_arms = [
        PlannedArm(
            arm,
            100 * arm.share / shares,
            ", ".join(f"{n} {name}" for name, n in trial_counts(study, arm).items() if n),
            ratings_required(study, arm),
        )
        for arm in arms
    ]
    n_test = sum(stratum.n_items for stratum in strata if stratum.name not in ("catch", QUESTION))
    return Planned(
        study=study,
        assumed=assumed,
        made_at=now,
        consent=study.consent,
        rules=study.exclusion_rules,
        adviser=adviser_of(study),
        is_advised=is_advised(study),
        has_unadvised=any(arm.advice == Arm.Advice.NONE or arm.advised_items for arm in arms),
        asks_first=any(arm.advice == Arm.Advice.AFTER for arm in arms),
        arms=planned_arms,
        strata=strata,
        n_test=n_test,
        precision=precision(study, assumed, n_test),
        survey=survey_questions(study),
        rubric=rubric_of(plan_of(study)).name,
        items_sha256=items_hash(study),
        not_reviewed=not_reviewed(items),
        columns=columns_of(study),
        members=list(Membership.objects.filter(study=study).select_related("user").order_by("pk")),
        channels=all_channels(study),
        duration=study_minutes(study),
    )


def items_hash(study: Study) -> str:
    """SHA-256 over the key, version and text hash of every test case that can be drawn, in order."""
    rows = study.accepted_items.order_by("key", "version").values_list("key", "version", "sha256")
    text = "".join(f"{key}\t{version}\t{sha256}\n" for key, version, sha256 in rows)
    return hashlib.sha256(text.encode()).hexdigest()
