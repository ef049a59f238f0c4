"""A study's rules are applied again to all who finished: a few people at a time, so that nobody waits long for it.

While it is under way, the rules that are in force hold for whoever finishes, and each of the others stays as decided before
until their turn: once it is over, all are decided by the newest rules. Counters are right after every step. Whoever changes
the rules meanwhile makes it begin again.
"""

import time
from collections import defaultdict
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import F

from experiment.domain.exclusion import Rules
from experiment.domain.release import Form
from experiment.domain.trial_query import Problem, QueryError, TrialQuery
from experiment.models import Judgment, Participant, RuleApplication, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.counting import Difference, raise_revision
from experiment.services.counts import kind_note
from experiment.services.exclusions import judged_people, mark_all
from experiment.services.recounting import FastPages
from lib.jobs import worker, workers
from lib.jobs.leases import Lease, run_job
from lib.jobs.models import NOBODY
from lib.jobs.queue import enqueue
from lib.locks import hold_shared

# SQLite has one writer at a time: a step of so many takes a third of a second
BATCH = 25
# Who waits for SQLite asks again after at most a tenth of a second, and would else come between two steps by luck alone
PAUSE_S = 0.12
Status = RuleApplication.Status


@dataclass(frozen=True, slots=True)
class Changed:
    """How many participants and trials are excluded, included or excluded for other reasons than before."""

    participants: int = 0
    trials: int = 0


def decided_by_rules(study: Study) -> ParticipantQuerySet:
    """Imported participants keep what their publication decided."""
    return study.participants.finished().exclude(kind=Participant.Kind.IMPORTED)


def reapply_exclusions(study: Study) -> Changed | None:
    """Decide again, in this process; None where a worker is at it."""
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        job = ask(study)
    done = run(job)
    return Changed(done.participants, done.trials) if done.status == Status.FINISHED else None


def apply_changed_rules(study: Study, before: Rules) -> Changed | None:
    """The (locked) study's rules have changed: at once for few people, else None and in the background."""
    if study.counted_min_rt_ms is None and study.min_rt_ms != before.min_rt_ms:
        study.counted_min_rt_ms = before.min_rt_ms
        study.save(update_fields=["counted_min_rt_ms"])
    counts_anew = study.counted_min_rt_ms is not None
    concerned = study.participants.finished() if counts_anew else decided_by_rules(study)
    if concerned[: BATCH + 1].count() > BATCH:
        start(ask(study))
        return None
    if counts_anew:
        FastPages.read(study).write(study)
    # All are decided now, also those whom an earlier one did not come to
    study.rule_applications.filter(status__in=(Status.FAILED, Status.CANCELLED)).delete()
    # What is under way already is for them too
    changed, _ = _step(study, after=0)
    return changed


def ask(study: Study) -> RuleApplication:
    """Starts deciding about everybody again; begun anew where it is under way. The study's row is locked."""
    _renew_results(study)
    anew = {"reached": 0, "done": 0, "participants": 0, "trials": 0}
    total = decided_by_rules(study).count()
    under_way = study.rule_applications.filter(status__in=RuleApplication.OPEN_STATUSES)
    if under_way.update(total=total, **anew):
        return under_way.get()
    return RuleApplication.objects.create(study=study, total=total)


def start(job: RuleApplication) -> None:
    """Have it done by a worker or, where none lives, by a process of its own."""
    enqueue(job, NOBODY)
    if settings.JOB_EXECUTOR != "celery" and not workers.is_taken(RuleApplication):
        transaction.on_commit(lambda: worker.start_process(job), robust=True)


def run(job: RuleApplication) -> RuleApplication:
    """Decide again as a worker does; one that takes it over goes on where this one ended."""
    return run_job(job, _work)


def _work(job: RuleApplication, lease: Lease) -> None:
    while not advance(job, lease):
        time.sleep(PAUSE_S)


def advance(job: RuleApplication, lease: Lease) -> bool:
    """One step; whether it was the last."""
    job.refresh_from_db()
    study = Study.objects.get(pk=job.study_id)
    is_last = not decided_by_rules(study).filter(pk__gt=job.reached).exists()
    # Of all at once, so not while anybody is kept waiting
    pages = FastPages.read(study) if is_last and study.counted_min_rt_ms is not None else None
    with transaction.atomic():
        lease.check()
        # Who changes the rules waits until this step is over, or is seen here
        if is_last:
            study = Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
        else:
            hold_shared(study)
            study = Study.objects.get(pk=job.study_id)
        job.refresh_from_db()
        changed, decided = _step(study, after=job.reached)
        if decided:
            lease.advance(
                reached=decided[-1],
                done=F("done") + len(decided),
                participants=F("participants") + changed.participants,
                trials=F("trials") + changed.trials,
            )
            return False
        if not is_last:
            return False
        if study.counted_min_rt_ms is not None:
            if pages is None or pages.limit_ms != study.min_rt_ms:
                return False  # the rules' time was changed since the pages were read
            pages.write(study)
        _renew_results(study)
        # Here, so that no change of the rules comes in between
        lease.end(Status.FINISHED)
        return True


def _renew_results(study: Study) -> None:
    """Renews stored results, which say whether all are decided by the same rules."""
    for (kind,) in study.participants.order_by().values_list("kind").distinct():
        raise_revision(study, kind)


def _step(study: Study, after: int) -> tuple[Changed, list[int]]:
    """Decide the next few people, and count them; the keys of who was decided."""
    locked = decided_by_rules(study).filter(pk__gt=after).order_by("pk")
    locked = locked.select_for_update(of=("self",), no_key=True)
    pks = list(locked.values_list("pk", flat=True)[:BATCH])
    counts: dict[str, Difference] = defaultdict(Difference)
    people = Participant.objects.filter(pk__in=pks).select_related("arm")
    changed_people: list[Participant] = []
    changed_judgments: list[Judgment] = []
    n_people = n_trials = 0
    for person, judgments, verdict in judged_people(people, study.exclusion_rules):
        counts[person.kind].add(person, judgments, study.fast_limit_ms, sign=-1)
        marked = mark_all(person, judgments, verdict)
        counts[person.kind].add(person, judgments, study.fast_limit_ms)
        changed_people += marked.people
        changed_judgments += marked.judgments
        n_people += marked.n_people
        n_trials += marked.n_trials
    Participant.objects.bulk_update(changed_people, ["excluded_by", "flags"])
    Judgment.objects.bulk_update(changed_judgments, ["excluded_by", "flags"])
    # Last, since draws and finishes wait for it
    for kind, difference in sorted(counts.items()):
        difference.write(study, kind)
    return Changed(n_people, n_trials), pks


def rules_under_way(study: Study) -> RuleApplication | None:
    """The application of the newest rules, or one that failed or was stopped before all were decided; None where all are."""
    jobs = study.rule_applications.order_by("pk")
    still_open = jobs.filter(status__in=RuleApplication.OPEN_STATUSES).first()
    newest = still_open or jobs.last()
    is_over = newest is None or newest.status == RuleApplication.Status.FINISHED
    return None if is_over else newest


def are_mixed(study: Study, kind: str, rules: int | None = None) -> bool:
    """True if two versions of the rules decide about these participants; a version that is asked for decides alone."""
    return (
        rules is None and kind != Participant.Kind.IMPORTED and rules_under_way(study) is not None
    )


def note_beside_numbers(study: Study, kind: str, rules: int | None = None) -> str:
    """A note that has to stand beside numbers of this kind, on those who are left out of them too."""
    mixed = mixed_sentence(study) if are_mixed(study, kind, rules) else ""
    return " ".join(filter(None, (kind_note(study, kind), mixed)))


def mixed_sentence(study: Study) -> str:
    return (
        f"Version {study.version} of the study's rules has not yet been applied to everybody who finished: some participants are "
        "still included or excluded by the earlier rules."
    )


def refuse_mixed_release(study: Study, query: TrialQuery, form: Form) -> None:
    """Nothing is published that would say of some trials by mistake that no rule excludes them.

    Raises:
        QueryError: trials of the analysis for the public, while two versions of the rules decide.
    """
    if form.k and query.set == "analysis" and are_mixed(study, query.kind, query.rules):
        raise QueryError([Problem("release", "true", why=mixed_sentence(study))])
