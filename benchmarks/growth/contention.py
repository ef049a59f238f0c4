"""Draws from several processes at once, as fast as the machine makes them."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Max, Min

from benchmarks.web.database import using
from benchmarks.web.material import make_items
from benchmarks.web.site import SLUG, make_study
from experiment.models import ItemCount


@dataclass(frozen=True, slots=True)
class Contention:
    """`overtaken`: tries that began again, per draw; `spread`: most minus least assignments in a stratum, the highest."""

    processes: int
    draws: int
    per_s: float
    overtaken: float
    spread: int


def contend(url: str, processes: int, draws_each: int) -> Contention:
    """In the (empty) database at `url`: every process draws its participants' first items, one after the other."""
    make_study(url, make_items())
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": settings.SECRET_KEY,
    }
    command = [sys.executable, "-m", "benchmarks.growth.drawer", str(draws_each)]
    drawers = [
        subprocess.Popen(
            command,
            env=environment,
            cwd=settings.BASE_DIR,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(processes)
    ]
    try:
        for drawer in drawers:
            assert drawer.stdout is not None
            if drawer.stdout.readline() != "ready\n":
                raise RuntimeError("A process that draws did not start.")
        for drawer in drawers:
            assert drawer.stdin is not None
            drawer.stdin.write("\n")
            drawer.stdin.flush()
        found = [json.loads(drawer.communicate()[0]) for drawer in drawers]
    finally:
        for drawer in drawers:
            drawer.kill()
            drawer.wait()
    with using(url):
        strata = ItemCount.objects.filter(study__slug=SLUG).order_by().values("stratum")
        ends = strata.annotate(most=Max("assigned"), least=Min("assigned"))
        spread = max(row["most"] - row["least"] for row in ends)
    n = sum(one["draws"] for one in found)
    return Contention(
        processes,
        n,
        n / max(one["wall_s"] for one in found),
        sum(one["tries"] for one in found) / n - 1,
        spread,
    )
