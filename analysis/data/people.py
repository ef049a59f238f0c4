"""Participants and their trials."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Count, Exists, Max, Min, OuterRef, Q
from django.utils import timezone

from analysis.data.dataset import AnswerCounts, ArmCounts, Exclusion, FlowCounts, TakingPart
from analysis.data.items import read_columns
from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import (
    HAND_REASONS,
    NOT_FINISHED,
    PARTICIPANT_REASONS,
    TRIAL_REASONS,
)
from experiment.imports.read.trials import TRIALS_PER_PERSON
from experiment.imports.store.trials import EXTERNAL_SOURCE
from experiment.models import ExcludedByHand, Item, Judgment, Participant, Study, Trial
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import JudgmentQuerySet, believed
from experiment.participant.forms import POSITIONS, PREFER_NOT
from experiment.services.counts import is_joined, kind_counts
from experiment.services.exclusions import Verdicts

CAREERS = {code: str(label) for code, label in POSITIONS}
NOT_STATED = ""
NO_TESTS = ("catch", QUESTION)  # in which nobody was right or wrong about an abstract
APPROVED = (Participant.Kind.REAL, Participant.Kind.PILOT)  # whom a study's ethics approval covers
TRIAL_COLUMNS = ["participant", "item", "is_correct", "confidence", "expertise", "rt_ms", "side", "original_side", "trial_position", "slider_moved"]  # fmt: skip
# Of a judgment of a test case and of an answer alike
OF_TRIALS: Mapping[str, tuple[Any, Any]] = {
    "pk": ("pk", np.int64),
    "participant": ("trial__participant_id", np.int64),
    "item": ("trial__item_id", np.int64),
    "rt_ms": (believed("rt_ms", "server_ms"), float),
    "reasons": ("excluded_by", object),
}
POSITION_ORDER = tuple(label for code, label in CAREERS.items() if code != PREFER_NOT)


def read_participants(people: ParticipantQuerySet) -> pd.DataFrame:
    """Those of them with trials, as in SourceData, and pk; by pk."""
    has_trials = Exists(Trial.objects.filter(participant=OuterRef("pk")))
    rows = people.filter(has_trials).order_by("pk")
    columns = ("demographics", "consented_at", "finished_at")
    table = read_columns(
        rows, {"pk": ("pk", np.int64), **{name: (name, object) for name in columns}}
    )
    answers, begun, ended = (table.pop(name) for name in columns)
    table["minutes"] = [
        (b - a) / timedelta(minutes=1) if a and b else np.nan
        for a, b in zip(begun, ended, strict=True)
    ]
    for name in ("gender", "country"):
        table[name] = [_stated(a.get(name)) for a in answers]
    table["career"] = [CAREERS.get(code := _stated(a.get("position")), code) for a in answers]
    for name in ("experience_years", "age"):
        table[name] = pd.to_numeric(
            pd.Series([a.get(name) for a in answers], dtype=object), errors="coerce"
        ).astype(float)
    return table


def read_taking_part(
    study: Study,
    kind: str,
    taking_part: ParticipantQuerySet,
    people: pd.DataFrame,
    trials: pd.DataFrame,
    answers: pd.DataFrame,
) -> TakingPart:
    """`people`, `trials` and `answers` as they are read here; of the last two the analysed ones."""
    rows = taking_part.order_by()
    days = rows.aggregate(first=Min("consented_at"), last=Max("consented_at"))
    # Of those who withdrew, the site's name is erased with their ID
    present = rows.exclude(stage=Participant.Stage.WITHDRAWN)
    routes = present.values_list("external_source").annotate(n=Count("pk"))
    counted = people["pk"].isin({*trials["participant"], *answers["participant"]})
    timed = answers if trials.empty else trials
    return TakingPart(
        kind=kind,
        people=people[counted].drop(columns="pk").reset_index(drop=True),
        rt_ms=timed["rt_ms"].to_numpy(dtype=float),
        first_day=_day(days["first"]),
        last_day=_day(days["last"]),
        # An import names its file there
        routes={} if kind == Participant.Kind.IMPORTED else dict(routes),
        other_kinds={other: n for other, n in kind_counts(study).items() if other != kind},
        # It is of this study's own participants
        ethics_number=study.ethics_number if kind in APPROVED else "",
        ethics_body=study.ethics_body if kind in APPROVED else "",
        payment=tuple(study.pay.sentences()) if kind in APPROVED else (),
    )


def _day(moment: datetime | None) -> date | None:
    return timezone.localdate(moment) if moment else None


def _stated(code: object) -> str:
    return NOT_STATED if not code or code == PREFER_NOT else str(code)


def read_judged(
    people: ParticipantQuerySet, judgments: JudgmentQuerySet, decided: Verdicts | None = None
) -> pd.DataFrame:
    """All judged test trials in the order in which they were stored, read once; participant and item are primary keys.

    Beside SourceData's columns `reasons`, the codes that exclude a trial, and `person_reasons`, those that exclude its participant, of whom
    did not finish NOT_FINISHED's (categories, "" none). People who are joined from elsewhere come with all their trials: those on items
    that the study does not show go when these are numbered. `decided`: what is left out, where that is not as stored.
    """
    table = read_columns(
        judgments.exclude(trial__stratum__in=NO_TESTS).order_by(),
        {
            **OF_TRIALS,
            "is_correct": ("correct", bool),
            "confidence": ("confidence", float),
            "expertise": ("expertise", float),
            "confidence_moved": ("confidence_moved", bool),
            "expertise_moved": ("expertise_moved", bool),
            "side": ("side", "U1"),
            "original_side": ("trial__original_side", "U1"),
            "trial_position": ("trial__position", np.int64),
        },
    )
    table["slider_moved"] = table.pop("confidence_moved") | table.pop("expertise_moved")
    return _with_reasons(table, people, decided)


def read_answered(
    study: Study,
    people: ParticipantQuerySet,
    judgments: JudgmentQuerySet,
    decided: Verdicts | None = None,
) -> pd.DataFrame:
    """All answers to questions that the study shows: participant, item, rt_ms and the reasons, as `read_judged` has them."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.QUESTION)
    answers = judgments.filter(trial__stratum=QUESTION, trial__item__in=shown)
    return _with_reasons(read_columns(answers.order_by(), OF_TRIALS), people, decided)


def _with_reasons(
    table: pd.DataFrame, people: ParticipantQuerySet, decided: Verdicts | None
) -> pd.DataFrame:
    """The rows in the order in which they were stored, with `person_reasons`, and without pk."""
    # Sorted here: the database would sort ten times as much, and on disk
    table = table.sort_values("pk", ignore_index=True)
    pks = table.pop("pk")
    if decided is None:
        finished = people.finished().order_by()
        excluded = dict(finished.values_list("pk", "excluded_by"))
    else:
        excluded = {pk: marks.excluded_by for pk, marks in decided.participants.items()}
        # Nothing is decided about people who did not finish
        said = {pk: marks.excluded_by for pk, marks in decided.judgments.items()}
        table["reasons"] = pks.map(said).fillna("")
    table["reasons"] = table["reasons"].astype("category")
    of_person = table["participant"].map(excluded).fillna(NOT_FINISHED.code)
    table["person_reasons"] = of_person.astype("category")
    return table


def analysed_of(judged: pd.DataFrame) -> pd.DataFrame:
    """Those of `read_judged` or `read_answered` that are in the analysis."""
    kept = (judged["person_reasons"] == "") & (judged["reasons"] == "")
    return judged[kept].reset_index(drop=True)


Kind, Stage = Participant.Kind, Participant.Stage
LABELS = {reason.code: reason.label for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS)}
ORDER = list(LABELS)
STEPS = {
    "consented": Count("pk"),
    # Of somebody who finished and withdrew since, the start is erased
    "started": Count("pk", filter=Q(started_at__isnull=False) | Q(finished_at__isnull=False)),
    "finished": Count("pk", filter=Q(stage=Stage.FINISHED) | Q(finished_at__isnull=False)),
    "withdrawn": Count("pk", filter=Q(stage=Stage.WITHDRAWN)),
}
WITHDRAWN_SINCE = Count("pk", filter=Q(stage=Stage.WITHDRAWN, finished_at__isnull=False))
UNDER_WAY = Count("pk", filter=Participant.UNDER_WAY)
NUMBERS = (*STEPS, "under_way")  # of an arm
OF_OTHERS = "of people who did not finish or were excluded"
NOT_SHOWN = "on test cases that this study does not show"


def read_flow(
    study: Study,
    kind: str,
    people: ParticipantQuerySet,
    everywhere: pd.DataFrame,
    answers: pd.DataFrame,
    decided: Verdicts | None = None,
) -> FlowCounts:
    """A participant or trial with several reasons is counted under the first.

    everywhere: as people.read_judged has them; answers: as people.read_answered does. `decided`: who is left out, where that is not as stored.
    """
    counts = people.aggregate(**STEPS, withdrawn_since=WITHDRAWN_SINCE)
    judged = everywhere
    if is_joined(study, kind):  # who takes part here has judged nothing else
        judged = everywhere[
            everywhere["item"].isin(Item.objects.shown_by([study]).values_list("pk", flat=True))
        ]
    analysed, counted = analysed_of(judged), analysed_of(answers)
    took_part, in_analysis = (
        set().union(*(table["participant"].unique() for table in tables))
        for tables in ((judged, answers), (analysed, counted))
    )
    if decided is None:
        by_code = people.finished().order_by().values_list("excluded_by")
        left_out = _tally(by_code.annotate(n=Count("pk")))
    else:
        left_out = _tally((marks.excluded_by, 1) for marks in decided.participants.values())
    of_hand = ExcludedByHand.objects.filter(participant__in=people.order_by().values("pk"))
    why = dict(of_hand.values_list("reason").annotate(n=Count("pk")))
    found = FlowCounts(
        kind=kind,
        recruited=None,
        **counts,
        excluded=tuple(left_out),
        analysed=len(in_analysis),
        trials_judged=len(judged),
        trials_excluded=tuple(_not_analysed(judged)),
        trials_analysed=len(analysed),
        arms=tuple(_arms(study, people, took_part, in_analysis, decided)),
        answers=AnswerCounts(len(answers), tuple(_not_analysed(answers)), len(counted)),
        by_hand=tuple(
            Exclusion(code, label, why[code]) for code, label in HAND_REASONS.items() if code in why
        ),
    )
    if kind != Kind.IMPORTED or decided is not None:
        return found
    return _published(people, found, n_elsewhere=len(everywhere) - len(judged))


def _not_analysed(judged: pd.DataFrame) -> Iterator[Exclusion]:
    of_valid = judged[judged["person_reasons"] == ""]
    if n_others := len(judged) - len(of_valid):
        yield Exclusion("participant", OF_OTHERS, n_others)
    yield from _tally(of_valid["reasons"].value_counts().items())


def _arms(
    study: Study,
    people: ParticipantQuerySet,
    took_part: Set[int],
    in_analysis: Set[int],
    decided: Verdicts | None,
) -> Iterator[ArmCounts]:
    """Everybody who was assigned, arm by arm; nothing in a study without arms. took_part, in_analysis: participants with a trial."""
    arms = dict(study.arms.order_by("number").values_list("pk", "name"))
    if not arms:
        return
    rows = people.exclude(arm=None).order_by()
    grouped = rows.values("arm").annotate(**STEPS, under_way=UNDER_WAY)
    came = {
        arm: dict(zip(NUMBERS, counts, strict=True))
        for arm, *counts in grouped.values_list("arm", *NUMBERS)
    }
    columns = {"pk": ("pk", np.int64), "arm": ("arm", np.int64), "stage": ("stage", object)}
    known = read_columns(rows, {**columns, "excluded": ("excluded_by", object)}).set_index("pk")
    known["excluded"] = known["excluded"].where(known["stage"] == Stage.FINISHED, "")
    if decided is not None:
        marks = {pk: marks.excluded_by for pk, marks in decided.participants.items()}
        known["excluded"] = known.index.map(marks).fillna("")
    answered, counted = (
        known.loc[known.index.isin(some), "arm"].value_counts() for some in (took_part, in_analysis)
    )
    nobody = dict.fromkeys(NUMBERS, 0)
    for pk, name in arms.items():
        own = known.loc[known["arm"] == pk, "excluded"]
        yield ArmCounts(
            arm=name,
            **came.get(pk, nobody),
            answered=int(answered.get(pk, 0)),
            excluded=tuple(_tally(own.value_counts().items())),
            analysed=int(counted.get(pk, 0)),
        )


def _tally(counted: Iterable[tuple[Any, int]]) -> Sequence[Exclusion]:
    """How many under the first of their codes; those without codes are included."""
    tally: Counter[str] = Counter()
    for codes, n in counted:
        if codes:
            tally[codes.split()[0]] += n
    found = sorted(tally, key=lambda code: ORDER.index(code) if code in LABELS else len(ORDER))
    return [Exclusion(code, LABELS.get(code, code), tally[code]) for code in found]


def _published(people: Any, found: FlowCounts, n_elsewhere: int) -> FlowCounts:
    """An import holds finishers only; the gaps in its numbering say how many were left out.

    n_elsewhere: trials on test cases that the study does not show, of people who are joined to it.
    """
    rows = people.filter(external_source=EXTERNAL_SOURCE)
    n_kept = rows.count()
    if not n_kept:
        return found
    records = Judgment.objects.filter(trial__participant__in=rows).values_list(
        "source_record", flat=True
    )
    indices = [int(record[""]) for record in records if str(record.get("", "")).isdecimal()]
    n_blocks = max(indices) // TRIALS_PER_PERSON + 1 if indices else n_kept
    n_trials = TRIALS_PER_PERSON * n_kept
    return replace(
        found,
        recruited=n_blocks,
        consented=None,
        started=None,
        finished=None,
        excluded=(_before_publication(n_blocks - n_kept),),
        trials_judged=n_trials,
        trials_excluded=(
            _before_publication(n_trials - len(indices)),
            *([Exclusion("not_shown", NOT_SHOWN, n_elsewhere)] if n_elsewhere else []),
        ),
        is_after_publication=True,
    )


def _before_publication(n: int) -> Exclusion:
    return Exclusion("before_publication", "excluded before publication", n)
