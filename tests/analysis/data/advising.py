"""Trials with advice, made directly."""

from django.utils import timezone

from experiment.models import AdvisedTrial, Participant


def advise(person: Participant, procedure: str, **first: object) -> None:
    """The study's frozen advice in each trial of a test case; with `after`, a first answer that is wrong unless `first` says so."""
    for trial in person.trials.filter(stratum__in=("human", "machine")):
        own = {"first_side": "", "first_received_at": None}
        if procedure == "after":
            own = {
                "first_side": "AB"[trial.original_side == "A"],
                "first_confidence": 30,
                "first_rt_ms": 40_000,
                "first_received_at": trial.shown_at,
            }
        right = trial.item.advice.get().picks_original
        other = "AB"[trial.original_side == "A"]
        AdvisedTrial.objects.create(
            trial=trial,
            procedure=procedure,
            advice_side=trial.original_side if right else other,
            p_shown=0.78,
            shown_at=timezone.now(),
            **(own | first),
        )
