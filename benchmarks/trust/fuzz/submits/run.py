"""Sends broken forms to the site in this process, through all of its middleware, and looks at what each of them left behind."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from django.db import connection, transaction
from django.http import HttpResponse
from django.http.cookie import SimpleCookie

from benchmarks.trust.fuzz.breaking.requests import Sent, broken_request
from benchmarks.trust.fuzz.cases import Case, HangError, Tally, time_limit
from benchmarks.trust.fuzz.material import Material
from benchmarks.trust.fuzz.submits.forms import Form, People, choose, lab_forms
from benchmarks.trust.people import BAD, GONE
from config.requests import Request
from experiment.models import Participant, Study
from experiment.services import audit
from experiment.services.recounting import check

OF = "submits"
LONGEST_S = 20.0
BATCH = 500
FIRST_REFUSAL = 400
# Of the cases: another process writes to the same SQLite meanwhile
MOST_LOCKED = 0.01
WRITE = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
# May be written although the form is refused: who signs in how often, what was typed, and when a participant was seen
OF_THE_VISIT = frozenset(
    {
        "django_session",
        "experiment_signinattempts",
        "experiment_itemscratch",
        "experiment_participant",
    }
)
# What a wrong choice in the practice, and a look at a page, may change
OF_THE_PAGE = ("last_seen_at", "practice_attempts", "left_at", "started_at")


@dataclass
class Committed:
    """Tables whose rows were changed for good."""

    tables: set[str] = field(default_factory=set)

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        result = execute(sql, params, many, context)
        # SQLite counts no rows of statements that return some
        if (found := WRITE.match(sql)) and (context["cursor"].rowcount or "RETURNING" in sql):
            table = found[1]
            transaction.on_commit(lambda: self.tables.add(table))  # not where it is rolled back
        return result


@contextmanager
def noting_commits() -> Iterator[Committed]:
    committed = Committed()
    with connection.execute_wrapper(committed):
        yield committed


def deliver(form: Form, sent: Sent) -> HttpResponse:
    """As gunicorn hands it over: cookies and headers as they were sent, whatever is in them."""
    client = form.client
    client.cookies = SimpleCookie()
    cookie = "; ".join(f"{name}={value}" for name, value in sent.cookies.items())
    environ = {
        f"HTTP_{name.upper().replace('-', '_')}": value for name, value in sent.headers.items()
    }
    environ["HTTP_COOKIE"] = cookie
    path, _, query = sent.path.partition("?")
    with patch("django.test.client.WSGIRequest", Request):  # as the site reads what came
        answer: HttpResponse = client.generic(
            sent.method, path, sent.content(), sent.content_type, QUERY_STRING=query, **environ
        )
    return answer


def run(people: Material, lab: Material, seed: int, numbers: Iterable[int]) -> Tally:
    """Participants are of one study, and the lab's forms change another."""
    tally, visitors = Tally(), People(people.study)
    forms = lab_forms(lab)
    for count, number in enumerate(numbers):
        if count % BATCH == 0:
            _check_valid(visitors, seed, number, tally)
        case = Case(OF, seed, number)
        rng = case.rng()
        form = choose(rng, visitors, forms)
        tally.cases += 1
        _try(form, case, rng, visitors, tally)
    if tally.unavailable > MOST_LOCKED * tally.cases:
        tally.problems.append(f"{tally.unavailable} of {tally.cases} cases met a locked database")
    _check_end(tally)
    return tally


def _try(form: Form, case: Case, rng: random.Random, visitors: People, tally: Tally) -> None:
    sent = broken_request(rng, form.sent)
    try:
        with time_limit(LONGEST_S), noting_commits() as committed:
            answer = deliver(form, sent)
    except HangError as error:
        tally.fail(case, f"{form.name}: {error}")
        return
    except Exception as error:  # noqa: BLE001 - outside of Django's own handling: what is looked for
        tally.errors += 1
        tally.fail(case, f"{form.name}: {type(error).__name__}: {error}")
        return
    if answer.status_code >= BAD:
        is_locked = answer.status_code == GONE and connection.vendor == "sqlite"
        tally.unavailable += is_locked
        tally.errors += not is_locked
        if not is_locked or "Retry-After" not in answer:
            tally.fail(
                case, f"{form.name}: {sent.method} {sent.path[:200]} answered {answer.status_code}"
            )
    elif answer.status_code >= FIRST_REFUSAL:
        tally.refused += 1
        if what := _left_behind(form, committed):
            tally.fail(case, f"{form.name}: answered {answer.status_code}, and wrote {what}")
        return
    else:
        tally.taken += 1
    visitors.gone(form.name)


def _left_behind(form: Form, committed: Committed) -> str:
    """What a refused form changed."""
    tables = committed.tables - OF_THE_VISIT
    if form.name == "sign-in":
        tables -= {"experiment_auditevent"}  # says that it was refused
    if tables:
        return ", ".join(sorted(tables))
    if form.person is None or "experiment_participant" not in committed.tables:
        return ""
    names = [f.attname for f in Participant._meta.concrete_fields if f.attname not in OF_THE_PAGE]
    now = Participant.objects.get(pk=form.person.pk)
    changed = [name for name in names if getattr(now, name) != getattr(form.person, name)]
    return ", ".join(changed)


def _check_valid(visitors: People, seed: int, number: int, tally: Tally) -> None:
    """Whoever fills the forms in as asked is taken."""
    for name, make in visitors.pages().items():
        form = make()
        answer = deliver(form, form.sent)
        if answer.status_code not in form.taken:
            tally.fail(
                Case(OF, seed, number), f"{name}: a valid form was answered {answer.status_code}"
            )


def _check_end(tally: Tally) -> None:
    tally.problems += [f"counter: {drift}" for drift in check(Study.objects.all())]
    if broken := audit.verify():
        tally.problems.append(f"audit trail: event {broken.number}: {broken.what}")
