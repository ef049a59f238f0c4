"""Whatever a check looks at itself: at its end counters and the audit trail of its database must hold."""

from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from pathlib import Path

import pytest

from benchmarks.trust import world
from benchmarks.trust.audit import out_of_step
from benchmarks.trust.check import Check, Database, Part, Scale
from benchmarks.trust.databases import PREPARED, Source
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.world import World, try_check
from experiment.models import AuditEvent, ItemCount
from experiment.models.triggers import drop_triggers
from experiment.services.audit import Action, record
from tests.experiment.people import answer, start
from tests.factories import make_study

GREEN, SHORT = Outcome(1), Scale(is_full=False)


def nothing() -> None:
    record(Action.SIGNED_IN)


def wrong_counter() -> None:
    answer(start(make_study(recruitment="open")), until=1)
    assert ItemCount.objects.update(valid=7)


def changed_event() -> None:
    record(Action.SIGNED_IN)
    drop_triggers("default")
    assert AuditEvent.objects.update(actor="nobody")


def checked(run: Callable[[World, Scale], Outcome], *, is_elsewhere: bool = False) -> Check[World]:
    return Check("tried", "Tried", Part.PROCESSES, run, is_elsewhere=is_elsewhere)


@pytest.fixture
def source(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Its copies are empty files: the tests' own database stands for them."""
    (tmp_path / f"{PREPARED}.sqlite3").touch()
    monkeypatch.setattr(world, "opened", lambda values: nullcontext())
    return Source(Database.SQLITE, tmp_path, None, count())


@pytest.mark.parametrize(
    ("leave", "problem"),
    [(nothing, ""), (wrong_counter, "counter: "), (changed_event, "audit trail: event ")],
)
@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_what_a_check_leaves_behind_is_looked_at_whatever_it_said(
    source: Source, leave: Callable[[], None], problem: str, is_elsewhere: bool
) -> None:
    def run(_: World, scale: Scale) -> Outcome:
        leave()
        return GREEN

    found = try_check(checked(run, is_elsewhere=is_elsewhere), source, SHORT, 1)
    assert found.is_green is (is_elsewhere or not problem)
    assert all(said.startswith(problem) for said in found.problems)


def test_what_a_check_found_itself_is_said_once(source: Source) -> None:
    wrong_counter()
    found = tuple(out_of_step())
    check = checked(lambda _, scale: Outcome(1, problems=found))
    assert try_check(check, source, SHORT, 1).problems == found
