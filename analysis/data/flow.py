"""How many took part, how far they came, and who and what was left out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Count, Q

from analysis.data.flow_counts import Exclusion, FlowCounts
from experiment.domain.exclusion import PARTICIPANT_REASONS, TRIAL_REASONS
from experiment.imports.read.trials import TRIALS_PER_PERSON
from experiment.imports.store.trials import EXTERNAL_SOURCE
from experiment.models import Item, Judgment, Participant, Study
from experiment.services.exclusions import Verdicts
from experiment.services.participant_kinds import judgments_of, people_of

Kind, Stage = Participant.Kind, Participant.Stage
LABELS = {reason.code: reason.label for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS)}
ORDER = list(LABELS)
OF_OTHERS = "of people who did not finish or were excluded"
NOT_SHOWN = "on test cases that this study does not show"


def read(study: Study, kind: str, decided: Verdicts | None = None) -> FlowCounts:
    """A participant or trial with several reasons is counted under the first.

    `decided`: who and what is left out, where that is not as stored.
    """
    people = people_of(study, kind)
    counts = people.aggregate(
        consented=Count("pk"),
        started=Count("pk", filter=Q(started_at__isnull=False)),
        finished=Count("pk", filter=Q(stage=Stage.FINISHED) | Q(finished_at__isnull=False)),
        withdrawn=Count("pk", filter=Q(stage=Stage.WITHDRAWN)),
    )
    shown = Q(trial__item__in=Item.objects.shown_by([study]).values("pk"))
    everywhere = judgments_of(study, kind).exclude(trial__stratum="catch")
    judged = everywhere.filter(shown)
    analysed = judged.valid()
    of_valid = Q(trial__participant__excluded_by="", trial__participant__stage=Stage.FINISHED)
    of_others = judged.exclude(of_valid).count()
    others = Exclusion("participant", OF_OTHERS, of_others)
    found = FlowCounts(
        kind=kind,
        recruited=None,
        **counts,
        excluded=tuple(_first_reasons(people.finished())),
        analysed=analysed.order_by().values("trial__participant").distinct().count(),
        trials_judged=judged.count(),
        trials_excluded=(
            *([others] if of_others else []),
            *_first_reasons(judged.filter(of_valid)),
        ),
        trials_analysed=analysed.count(),
    )
    if decided is not None:
        return replace(found, **_as_decided(judged, decided))
    if kind != Kind.IMPORTED:
        return found
    return _published(people, found, n_elsewhere=everywhere.count() - found.trials_judged)


def _as_decided(judged: Any, decided: Verdicts) -> dict[str, Any]:
    """What depends on the rules, counted as the database does where their verdicts are stored."""
    valid = decided.valid_participants
    rows = list(judged.values_list("pk", "trial__participant"))
    of_valid = [(pk, person) for pk, person in rows if person in valid]
    analysed = [person for pk, person in of_valid if not decided.judgments[pk].excluded_by]
    n_others = len(rows) - len(of_valid)
    return {
        "excluded": tuple(_tally((m.excluded_by, 1) for m in decided.participants.values())),
        "analysed": len(set(analysed)),
        "trials_excluded": (
            *([Exclusion("participant", OF_OTHERS, n_others)] if n_others else []),
            *_tally((decided.judgments[pk].excluded_by, 1) for pk, _ in of_valid),
        ),
        "trials_analysed": len(analysed),
    }


def _first_reasons(rows: Any) -> Sequence[Exclusion]:
    return _tally(rows.order_by().values_list("excluded_by").annotate(n=Count("pk")))


def _tally(counted: Iterable[tuple[str, int]]) -> Sequence[Exclusion]:
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
