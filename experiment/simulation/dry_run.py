"""A dry run: simulated participants take the study through the services, and what they did is kept on the job's row."""

import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict

from django.core.files import File
from django.utils import timezone

from experiment.domain.advice import ADVISED_STRATA, CONDITIONS
from experiment.domain.arm_power import Condition, contrasts
from experiment.domain.assignment import Stratum
from experiment.domain.forecast import ArmContrast, Simulated
from experiment.domain.simulation import Arrival
from experiment.domain.trial_query import TrialQuery
from experiment.models import Advice, Arm, DryRun, Item, Participant
from experiment.models.arms import trial_counts
from experiment.services.advisers import is_advised, items_without_advice
from experiment.services.counts import STRATA, item_exposures, study_minutes
from experiment.services.export.files import export_trials
from experiment.services.work import remove_simulated, sample_storage
from experiment.simulation.run import Plan, ServiceDriver, count_flow, count_steps, simulate
from lib.jobs.leases import Lease, run_job

SIMULATED = Participant.Kind.SIMULATED
# Of a test trial that is right without advice; of what a dry run forecasts, only what differs between arms depends on it
ACCURACY = 0.63
ARRIVALS: dict[str, Arrival] = {
    "trickle": "trickle",
    "steady": "steady",
    "waves": "waves",
    "flash": "flash",
}


def run(job: DryRun) -> DryRun:
    """Simulate, as a worker does; the row says how it went."""
    return run_job(job, _work)


def _work(job: DryRun, lease: Lease) -> None:
    study, arrival = job.study, ARRIVALS[job.arrival]
    dropout, follows = job.dropout_percent / 100, job.follow_percent / 100
    plan = Plan(job.finishers, dropout, arrival, ACCURACY, job.seed, follows)
    remove_simulated(study)
    lease.write(total=count_steps(study, plan), done=0)
    for done in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
        lease.check()
        lease.write(done=done)
    # The simulated trials are kept as they would be exported
    with tempfile.TemporaryFile() as file:
        export = export_trials(study, TrialQuery(kind=SIMULATED), file)
        sample_storage().delete(job.path)
        sample_storage().save(job.path, File(file))
    lease.write(result=asdict(_found(job, export.rows)))


def _found(job: DryRun, n_trials: int) -> Simulated:
    study = job.study
    flow = count_flow(study)
    finishers = Participant.objects.of(study, SIMULATED).finished()
    excluded = finishers.values_list("excluded_by", flat=True)
    minutes = study_minutes(study)
    exposures: dict[str, list[int]] = {}
    for row in item_exposures(study, SIMULATED, timezone.now()):
        exposures.setdefault(row.stratum, []).append(row.valid)
    return Simulated(
        started=flow.started,
        finished=flow.finished,
        valid=flow.valid,
        minutes=(minutes.low, minutes.typical, minutes.high),
        excluded=dict(Counter(reason for reasons in excluded for reason in reasons.split())),
        exposures={stratum: exposures[stratum] for stratum in STRATA if stratum in exposures},
        trials=n_trials,
        arms=tuple(_arms(job)),
        lacks_advice=is_advised(study) and items_without_advice(study).exists(),
    )


def _arms(job: DryRun) -> Iterator[ArmContrast]:
    """Contrasts that the report will find between arms, source by source; none where no arm has advice, as it compares no others."""
    study = job.study
    if not is_advised(study):
        return
    items = study.drawable_items.filter(kind=Item.Kind.TEST).order_by()
    known = list(items.values_list("pk", "source", "subfield"))
    frozen = Advice.objects.filter(adviser__study=study, adviser__frozen_at__isnull=False)
    says = dict(frozen.order_by().values_list("item", "picks_original"))
    for source in ADVISED_STRATA:
        own = {pk: subfield for pk, of, subfield in known if of == source}
        right = [says[pk] for pk in own if pk in says]
        conditions = list(_conditions(job, source, own))
        if right and len(conditions) > 1:
            yield from contrasts(source, conditions, ACCURACY, statistics.fmean(right))


def _conditions(job: DryRun, source: Stratum, items: Mapping[int, str]) -> list[Condition]:
    """As the report forms them, its reference first. items: key -> subfield."""
    arms = list(job.study.arms.order_by("number"))
    of_share = job.target / sum(arm.share for arm in arms)
    found: list[tuple[tuple[bool, bool], Condition]] = []
    for arm in arms:
        counts = trial_counts(job.study, arm)
        n_tests = sum(counts[one] for one in ADVISED_STRATA)
        given = frozenset(
            pk for pk, sub in items.items() if not arm.subfields or sub in arm.subfields
        )
        if not counts[source] or not given:
            continue
        advised = _share_advised(arm, n_tests)
        parts = [(Arm.Advice.NONE.value, 1 - advised), (arm.advice, advised)]
        for procedure, share in parts:
            if not share:
                continue
            condition = Condition(
                name=arm.name if share == 1 else f"{arm.name}, {CONDITIONS[procedure]}",
                arm=arm.name,
                n_people=round(arm.share * of_share),
                trials_each=share * min(counts[source], len(given)),
                items=given,
                follows=job.follow_percent / 100 if procedure != Arm.Advice.NONE else 0.0,
            )
            found.append(((procedure != Arm.Advice.NONE, arm.is_advised), condition))
    # Python keeps the order of those that are alike
    return [one for _, one in sorted(found, key=lambda each: each[0])]


def _share_advised(arm: Arm, n_tests: int) -> float:
    """The share of test cases with advice among the trials of a participant in this arm."""
    if not arm.is_advised:
        return 0.0
    return 1.0 if arm.advised_items is None else min(1.0, arm.advised_items / n_tests)
