"""How many took part, how far they came, and who and what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from django.db.models import Count, Q

from analysis.data.flow_counts import Exclusion, FlowCounts
from analysis.data.people import analysed_of
from experiment.domain.exclusion import PARTICIPANT_REASONS, TRIAL_REASONS
from experiment.imports.read.trials import TRIALS_PER_PERSON
from experiment.imports.store.trials import EXTERNAL_SOURCE
from experiment.models import Item, Judgment, Participant, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.exclusions import Verdicts
from experiment.services.participant_kinds import is_joined, people_of

Kind, Stage = Participant.Kind, Participant.Stage
LABELS = {reason.code: reason.label for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS)}
ORDER = list(LABELS)
OF_OTHERS = "of people who did not finish or were excluded"
NOT_SHOWN = "on test cases that this study does not show"


def read(
    study: Study, kind: str, everywhere: pd.DataFrame, decided: Verdicts | None = None
) -> FlowCounts:
    """A participant or trial with several reasons is counted under the first.

    everywhere: as people.read_judged has them. `decided`: who is left out, where that is not as stored.
    """
    people = people_of(study, kind)
    counts = people.aggregate(
        consented=Count("pk"),
        started=Count("pk", filter=Q(started_at__isnull=False)),
        finished=Count("pk", filter=Q(stage=Stage.FINISHED) | Q(finished_at__isnull=False)),
        withdrawn=Count("pk", filter=Q(stage=Stage.WITHDRAWN)),
    )
    judged = everywhere
    if is_joined(study, kind):  # who takes part here has judged nothing else
        judged = everywhere[
            everywhere["item"].isin(Item.objects.shown_by([study]).values_list("pk", flat=True))
        ]
    of_valid = judged[judged["is_of_valid"]]
    analysed = analysed_of(judged)
    n_others = len(judged) - len(of_valid)
    found = FlowCounts(
        kind=kind,
        recruited=None,
        **counts,
        excluded=tuple(_left_out(people, decided)),
        analysed=analysed["participant"].nunique(),
        trials_judged=len(judged),
        trials_excluded=(
            *([Exclusion("participant", OF_OTHERS, n_others)] if n_others else []),
            *_tally(of_valid["reasons"].value_counts().items()),
        ),
        trials_analysed=len(analysed),
    )
    if kind != Kind.IMPORTED or decided is not None:
        return found
    return _published(people, found, n_elsewhere=len(everywhere) - len(judged))


def _left_out(people: ParticipantQuerySet, decided: Verdicts | None) -> Sequence[Exclusion]:
    if decided is not None:
        return _tally((marks.excluded_by, 1) for marks in decided.participants.values())
    rows = people.finished().order_by()
    return _tally(rows.values_list("excluded_by").annotate(n=Count("pk")))


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
    return Exclusion("before_publication", "left out before publication", n)
