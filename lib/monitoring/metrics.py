"""Numbers for Prometheus: what this site's processes answered, added up, and what its rows say when it is asked.

No label holds an identifier: views are named, never paths.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count
from django.http import HttpRequest
from django.utils.module_loading import import_string
from prometheus_client import CollectorRegistry, Counter, Histogram, multiprocess
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector

from lib.jobs import workers as workers_service
from lib.jobs.models import Job
from lib.jobs.queue import kinds
from lib.monitoring.checks import database
from lib.monitoring.lines import route_of

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
REQUESTS = Counter("brainbench_requests_total", "Requests answered.", ("view", "method", "status"))
DURATION = Histogram(
    "brainbench_request_seconds", "Seconds until an answer was ready.", ("view",), buckets=BUCKETS
)


def count(request: HttpRequest, status: int, duration_s: float) -> None:
    view = route_of(request)
    method = request.method if request.method in METHODS else "other"
    REQUESTS.labels(view, method, f"{status // 100}xx").inc()
    DURATION.labels(view).observe(duration_s)


def exposition(accept: str) -> tuple[bytes, str]:
    """The metrics to send, and their type."""
    registry = CollectorRegistry()
    if settings.METRICS_DIR:
        multiprocess.MultiProcessCollector(registry, path=settings.METRICS_DIR)  # type: ignore[no-untyped-call]
    else:  # one process, such as runserver's
        registry.register(REGISTRY)
    registry.register(OfRows())
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class OfRows(Collector):
    """Read when asked, from counters and small tables alone; nothing but its state where the database is away."""

    def collect(self) -> Iterable[Metric]:
        up = gauge("brainbench_database_up", "Whether the database answers.")
        try:
            database()
            found = [*_jobs(), *(m for name in settings.METRICS for m in import_string(name)())]
            up.add_metric([], 1)
        except DatabaseError:
            found = []
            up.add_metric([], 0)
        return [up, *found]


def gauge(name: str, documentation: str, *labels: str) -> Any:
    return GaugeMetricFamily(name, documentation, labels=labels)


def _jobs() -> Iterable[Metric]:
    workers = gauge("brainbench_workers", "Workers seen lately.")
    workers.add_metric([], len(workers_service.living()))
    jobs = gauge("brainbench_jobs", "Background jobs by state.", "kind", "state")
    for kind in kinds():
        rows = kind._default_manager.order_by().values_list("status").annotate(Count("pk"))
        states = dict.fromkeys(Job.Status.values, 0) | dict(rows)
        for state, n in states.items():
            jobs.add_metric([kind._meta.label_lower, state], n)
    return workers, jobs
