"""Sentences about runs and trainings that several pages show."""

from collections.abc import Sequence
from decimal import Decimal

from lib.formatting import compact, count, number, verb
from lib.jobs.models import Job
from lib.jobs.progress import Progress
from lib.jobs.progress import stands as stands_open
from lib.templatetags.numbers import duration
from scoring.services.asking.forecast import Forecast
from scoring.services.asking.settings import Spending


def queued(numbers: Sequence[int]) -> str:
    """
    >>> queued([7]), queued([7, 8])
    ('Run 7 is queued.', 'Runs 7, 8 are queued.')
    """
    listed = ", ".join(map(str, numbers))
    return f"Run {listed} is queued." if len(numbers) == 1 else f"Runs {listed} are queued."


def state(job: Job, *, is_stale: bool) -> str:
    """The heading of a job's panel."""
    if is_stale:
        return "Its worker has stopped"
    if job.is_open and job.cancel_requested:
        return "Stopping"
    return (
        "Stopped" if job.status == Job.Status.CANCELLED else job.get_status_display().capitalize()
    )


def pace(job: Job, progress: Progress, left_s: float | None, silent_s: float | None = None) -> str:
    """The end of a sentence on how far a job is; begins with a comma, or is empty."""
    parts = ""
    is_measured = progress.percent is not None and progress.elapsed_s is not None
    if job.status == Job.Status.RUNNING and is_measured:
        parts += f", {progress.percent}% done, {duration(progress.elapsed_s or 0.0)} so far"
    if left_s is not None:
        parts += f", about {duration(left_s)} left"
    if job.is_open and silent_s is not None:
        parts += f"; last heartbeat {duration(silent_s)} ago"
    return parts


def stands(job: Job, units: str) -> str:
    """How far a run is that a worker takes: `units` name what it counts."""
    if job.is_open:
        return stands_open(job, units)
    return f"{job.get_status_display()}: {number(job.done, 0)} of {number(job.total, 0)} {units}"


def step(job: Job) -> str:
    """The same of work that has steps."""
    if not job.is_open:
        return job.get_status_display()
    state = "stopping" if job.cancel_requested else job.get_status_display()
    return f"{state}, step {job.done} of {job.total}"


def foretold(found: Forecast) -> str:
    """The cost of a run before it starts: the most, the time, and what is expected.

    >>> from scoring.domain.generating import Usage
    >>> foretold(Forecast("m", 8, Usage(900, 400), None, None))
    'This takes 8 requests, if none has to be repeated. The model reads at most about 900 tokens and writes at most about 400.'
    """
    usage, expected = found.usage, found.expected
    told = [
        f"This takes {count(found.requests, 'request')}, if none has to be repeated.",
        f"The model reads at most about {number(usage.prompt_tokens, 0)} tokens and writes at most about {number(usage.completion_tokens, 0)}.",
    ]
    if found.cost is not None:
        told.append(f"It costs {_money(found.cost)} at most.")
    if expected is not None:
        by = count(found.n_counted, "question")
        cost = found.expected_cost
        told.append(
            f"By the {by} that the server has counted, about {number(expected.prompt_tokens, 0)} tokens read and "
            f"{number(expected.completion_tokens, 0)} written are expected"
            + (f", at a cost of about {_money(cost)}." if cost is not None else ".")
        )
    if found.seconds is not None:
        told.append(f"At the model's pace so far, it takes {duration(found.seconds)}.")
    return " ".join(told)


def spent(spending: Spending) -> str:
    """The tokens, time and money that the answers of a run took.

    >>> spent(Spending())
    '0 answers in 0 s, 0 tokens read and 0 written'
    """
    told = f"{count(spending.answers, 'answer')} in {duration(spending.seconds)}"
    if spending.answers and spending.unknown == spending.answers:
        return f"{told}; the number of tokens is unknown"
    usage = spending.usage
    told += f", {number(usage.prompt_tokens, 0)} tokens read"
    told += f" and {number(usage.completion_tokens, 0)} written"
    if spending.unknown:
        told += f" (the server did not report tokens for {spending.unknown})"
    return told if spending.cost is None else f"{told}, cost {_money(spending.cost)}"


def _money(amount: Decimal) -> str:
    """An amount in the currency of the prices; small ones with three significant digits, which two decimals would hide.

    >>> _money(Decimal("12.345")), _money(Decimal("0.0033"))
    ('12.35', '0.0033')
    """
    return (
        number(float(amount), 2)
        if amount >= Decimal("0.1") or not amount
        else compact(float(amount))
    )


def not_shown(n: int, did: str, noun: str, of: str) -> str:
    """A run's work on test cases that a study does not show; empty where there is none.

    >>> not_shown(1, "scored", "more text", "of")
    'The run scored 1 more text, of a test case that this study does not show.'
    """
    if not n:
        return ""
    cases = verb(n, "a test case", "test cases")
    return f"The run {did} {count(n, noun)}, {of} {cases} that this study does not show."
