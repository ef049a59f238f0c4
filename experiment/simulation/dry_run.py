"""A dry run: simulated participants take the study through the services, and what they did is kept on the job's row."""

import statistics
import tempfile
from collections import Counter
from dataclasses import asdict

from django.core.files import File
from django.utils import timezone

from experiment.domain.advice import ADVISED_STRATA
from experiment.domain.arm_power import ArmContrast, contrasts
from experiment.domain.forecast import Simulated
from experiment.domain.simulation import Arrival
from experiment.domain.trial_query import TrialQuery
from experiment.models import DryRun, Participant, Study
from experiment.services.advisers import is_advised, items_without_advice
from experiment.services.counts import STRATA, item_exposures, judgments_of
from experiment.services.export.files import export_trials
from experiment.services.work import remove_simulated, sample_storage
from experiment.simulation.run import Plan, ServiceDriver, count_flow, count_steps, simulate
from lib.jobs.leases import Lease, run_job

SIMULATED = Participant.Kind.SIMULATED
# Of a test trial that is right without advice; of what a dry run forecasts, power for a difference between arms depends on it
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
    study, plan = job.study, _plan(job)
    remove_simulated(study)
    lease.write(total=count_steps(study, plan), done=0)
    for done in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
        lease.check()
        lease.write(done=done)
    n_trials = _keep_sample(job)
    lease.write(result=asdict(_found(study, n_trials)))


def _plan(job: DryRun) -> Plan:
    arrival = ARRIVALS[job.arrival]
    dropout, follows = job.dropout_percent / 100, job.follow_percent / 100
    return Plan(job.finishers, dropout, arrival, ACCURACY, job.seed, follows)


def _keep_sample(job: DryRun) -> int:
    """Store the simulated trials as they would be exported; how many they are."""
    with tempfile.TemporaryFile() as file:
        export = export_trials(job.study, TrialQuery(kind=SIMULATED), file)
        sample_storage().delete(job.path)
        sample_storage().save(job.path, File(file))
    return export.rows


def _found(study: Study, n_trials: int) -> Simulated:
    flow = count_flow(study)
    finishers = Participant.objects.of(study, SIMULATED).finished()
    times = finishers.values_list("consented_at", "finished_at", "excluded_by")
    minutes = [(end - start).total_seconds() / 60 for start, end, _ in times if start and end]
    low, median, high = (
        statistics.quantiles(minutes, n=4, method="inclusive") if len(minutes) > 1 else minutes * 3
    )
    exposures: dict[str, list[int]] = {}
    for row in item_exposures(study, SIMULATED, timezone.now()):
        exposures.setdefault(row.stratum, []).append(row.valid)
    return Simulated(
        started=flow.started,
        finished=flow.finished,
        valid=flow.valid,
        minutes=(low, median, high),
        excluded=dict(Counter(reason for *_, reasons in times for reason in reasons.split())),
        exposures={stratum: exposures[stratum] for stratum in STRATA if stratum in exposures},
        trials=n_trials,
        contrasts=_contrasts(study),
        lacks_advice=is_advised(study) and items_without_advice(study).exists(),
    )


def _contrasts(study: Study) -> tuple[ArmContrast, ...]:
    """Each arm against the first one without advice, or the first."""
    arms = list(study.arms.order_by("number"))
    if len(arms) < 2:
        return ()
    reference = next((arm for arm in arms if not arm.is_advised), arms[0])
    judged = judgments_of(study, SIMULATED).filter(
        trial__stratum__in=ADVISED_STRATA,
        trial__participant__in=Participant.objects.of(study, SIMULATED).valid(),
        excluded_by="",
    )
    found = judged.order_by().values_list(
        "trial__participant__arm__name", "trial__participant", "trial__item", "correct"
    )
    rows = ((arm, person, item, bool(is_right)) for arm, person, item, is_right in found)
    return contrasts(rows, [arm.name for arm in arms], reference.name)
