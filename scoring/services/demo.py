"""The demo as a page loads it: its studies at once; who takes them, people simulated and a model, by a worker."""

from django.contrib.auth.models import User
from django.db import transaction

from experiment.imports.store.demo import ensure_demo
from experiment.models import Study
from experiment.services import work
from scoring.models import ScoringRun
from scoring.services.runs import queue_runs

FINISHERS, DROPOUT_PERCENT = 12, 30  # as load_demo


@transaction.atomic
def open_demo(by: User) -> Study:
    """The demo study; simulated participants and the demonstration's model take it unless some have.

    One transaction, in which `ensure_demo` holds the lock: of two clicks at once, the second finds what the first has made.

    Raises:
        ValidationError: somebody's own study has the short name of one, or nobody could take one.
    """
    demo, questions = ensure_demo(by)
    for study in (demo, questions):
        if not study.participants.exists() and not work.is_under_way(study):
            work.ask_dry_run(study, by, finishers=FINISHERS, dropout_percent=DROPOUT_PERCENT)
    if not demo.scoring_runs.exists():
        full = ScoringRun.Condition.FULL.value
        queue_runs(demo, backend="embedded", model_args={}, conditions=[full], user=by)
    return demo
