"""Looks at an upgraded site, has its people and its jobs go on, and prints what was found: `python -m tests.upgrades.look FILE`.

With `--exports`, it only prints the digests of exports, as they are held for later versions.
"""

import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import django
import time_machine

from tests.upgrades.fill import ADVISED, quietly, reply
from tests.upgrades.site import server_at

LATER = timedelta(minutes=5)
NEARLY = 1e-9
OF_THE_MOMENT = {"made_at", "code", "data_version", "release"}  # of a report, besides its numbers
ENDS = ("done/", "withdraw/")


def main(file: Path, *, only_exports: bool) -> None:
    django.setup()
    from tests.scoring.backends.chat.stub import ChatStub

    found: dict[str, Any] = {"exports": exports()}
    if not only_exports:
        expected = json.loads(file.read_text(encoding="utf-8"))
        found["result"] = result()
        later = datetime.fromisoformat(expected["clock"]) + LATER
        with time_machine.travel(later, tick=False) as clock:
            found["people"] = [go_on(one, clock) for one in expected["people"]]
        found["answers"] = answers()
        with ChatStub(reply) as stub, server_at(stub.http.server_address[1]):
            found["jobs"] = work_off()
            found["asked"] = len(stub.requests)
    json.dump(found, sys.stdout)


def exports() -> dict[str, str]:
    """SHA-256 of each export, by study and name; of a data set, only of its tables."""
    from experiment.models import ResearchField, Study

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for study in Study.objects.order_by("slug"):
            for kind in sorted(set(study.participants.values_list("kind", flat=True))):
                chosen = (study.slug, "--set", "all", "--kind", kind, "--output")
                quietly("export_trials", *chosen, f"{place}/{study.slug}-{kind}.csv")
                quietly("export_dataset", *chosen, f"{place}/{study.slug}-{kind}")
        for field in ResearchField.objects.order_by("slug"):
            quietly(
                "export_items", "--field", field.slug, "--output", f"{place}/items-{field.slug}.csv"
            )
        return {
            str(path.relative_to(place)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(place.rglob("*.csv"))
        }


def result() -> dict[str, Any]:
    """The stored report, where this version's page opens it; else what its numbers have become, computed anew."""
    from analysis import store
    from analysis.data.filters import ReportOptions
    from analysis.models import Computation
    from analysis.services.compute import Asked
    from analysis.store import StoredResult
    from experiment.models import Study

    study = Study.objects.get(slug=ADVISED)
    stored = store.read(Computation.objects.get(study=study))
    assert stored is not None, "its files are gone"
    asked = Asked(study, ReportOptions())
    is_opened = asked.find() is not None
    now = asked.ensure_computed()
    assert isinstance(now, StoredResult), now
    n_numbers = sum(1 for _ in numbers(stored.values))
    return {
        "is_opened": is_opened,
        "numbers": n_numbers,
        "changed": list(changes(stored.values, now.values)),
    }


def numbers(values: Any) -> Iterator[float]:
    if isinstance(values, dict | list):
        for value in values.values() if isinstance(values, dict) else values:
            yield from numbers(value)
    elif isinstance(values, int | float) and not isinstance(values, bool):
        yield values


def changes(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """The places at which a value of a report is another, or gone. New keys are none."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() - OF_THE_MOMENT:
            yield from changes(old[name], new.get(name), f"{at}/{name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for n, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from changes(one, other, f"{at}/{n}")
    elif isinstance(old, float) and isinstance(new, int | float):
        if not math.isclose(old, new, rel_tol=NEARLY, abs_tol=NEARLY):
            yield at
    elif old != new:
        yield at


def go_on(person: dict[str, Any], clock: Any) -> dict[str, Any]:
    """The page that this person's browser opens, and where they come to in the end."""
    from tests.upgrades.people import Walker

    walker = Walker(f"/s/{person['study']}/", clock, person["cookies"])
    shown = {"page": walker.page, "token": walker.token, "is_revising": walker.is_revising}
    if walker.page not in ENDS:
        walker.go_to("done/")
    return shown | {"end": walker.page}


def answers() -> dict[str, Any]:
    """How many answers each finished participant gave of those asked for, and what is wrong with the counters."""
    from django.db.models import Count

    from experiment.models import Participant, Study
    from experiment.services.recounting import check

    people = Participant.objects.filter(kind="real", stage="finished").annotate(
        n=Count("trials__judgment")
    )
    return {
        "given": {str(one.public_id): [one.n, one.n_trials] for one in people},
        "counters": [str(problem) for problem in check(Study.objects.all())],
    }


def work_off() -> dict[str, dict[str, Any]]:
    """The jobs that were open, each before and after a worker has done all there is."""
    from lib.jobs.models import Job
    from lib.jobs.queue import kinds
    from lib.jobs.worker import do, next_job

    jobs = [
        job
        for kind in kinds()
        for job in kind._default_manager.filter(status__in=Job.OPEN_STATUSES)
    ]
    before = {job.label: [job.status, job.done, job.total] for job in jobs}
    while job := next_job():
        do(job)
    for job in jobs:
        job.refresh_from_db()
    after = {job.label: [job.status, job.done, job.total] for job in jobs}
    errors = {job.label: job.error for job in jobs}
    return {
        name: {"before": before[name], "after": after[name], "error": errors[name]}
        for name in before
    }


if __name__ == "__main__":
    main(Path(sys.argv[-1]), only_exports="--exports" in sys.argv)
