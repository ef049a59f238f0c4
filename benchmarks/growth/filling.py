"""Fills a study to any size: a small crowd is made row by row, and copied inside the database."""

import random
from collections.abc import Callable
from datetime import timedelta

from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.models import Max, Min
from django.utils import timezone

from benchmarks.experiment import crowd
from experiment.domain.assignment import DrawRecord, rng_key
from experiment.models import Item, Judgment, Participant, RecruitmentRecord, Study, Trial
from experiment.models.participants import FIRST_TRIAL_PAGE
from experiment.services.recounting import recount

KIND = Participant.Kind.REAL.value
FINISHED_PER_LEFT = 5  # one participant leaves for so many who finish
COPIES_AT_ONCE = 20
PARENTS: dict[type[models.Model], type[models.Model]] = {
    RecruitmentRecord: Participant,
    Trial: Participant,
    Judgment: Trial,
}
TABLES: tuple[type[models.Model], ...] = (Participant, *PARENTS)
# What is another in each copy, beside the keys
NEW = {
    Participant: {
        "public_id": "{uuid}",
        "enrollment_key": "{uuid}",
        "code_digest": "NULL",
        "seed": "{table}.seed + copy.n",
    },
    RecruitmentRecord: {"external_id": "{table}.external_id || copy.n"},
    Trial: {"token": "{uuid}"},
    Judgment: {"idempotency_key": "{uuid}"},
}
UUIDS = {"postgresql": "gen_random_uuid()", "sqlite": "lower(hex(randomblob(16)))"}


class Crowd:
    """The finished participants of a study, and those who left: `base` of the first, and whole copies of them all."""

    def __init__(self, study: Study, base: int) -> None:
        self.study, self.base, self.copies = study, base, 1
        _make_base(study, base)
        self._first = {model: _keys(model)[0] for model in TABLES}
        self._rows = {model: _keys(model)[1] - _keys(model)[0] + 1 for model in TABLES}
        self._count()

    @property
    def finished(self) -> int:
        return self.base * self.copies

    def grow(self, finished: int, announce: Callable[[int], None] = lambda _: None) -> None:
        """Bring them to that many, a multiple of the base; whoever else took part is removed, so that keys are free."""
        after = self._first[Participant] + self._rows[Participant] * self.copies
        gone = self.study.participants.filter(pk__gte=after)
        gone.update(stage=Participant.Stage.WITHDRAWN)  # else their answers stay
        gone.delete()
        while self.finished < finished:
            until = min(self.copies + COPIES_AT_ONCE, finished // self.base)
            with transaction.atomic():
                for model in TABLES:
                    self._copy(model, self.copies, until)
            self.copies = until
            announce(self.finished)
        self._count()

    def _copy(self, model: type[models.Model], start: int, end: int) -> None:
        """Copies number `start` to `end` - 1: their keys follow those of the rows before."""
        table, rows, first = model._meta.db_table, self._rows[model], self._first[model]
        columns = [str(field.column) for field in model._meta.concrete_fields]
        values = {column: f"{table}.{column}" for column in columns}
        values["id"] = f"{table}.id + copy.n * {rows}"
        if parent := PARENTS.get(model):
            values[f"{parent._meta.model_name}_id"] += f" + copy.n * {self._rows[parent]}"
        for column, expression in NEW[model].items():
            uuid = UUIDS[connection.vendor]
            values[column] = expression.format(table=table, rows=rows, uuid=uuid)
        numbers = f"SELECT {start} UNION ALL SELECT n + 1 FROM copy WHERE n < {end - 1}"  # noqa: S608
        base = f"{table}.id BETWEEN {first} AND {first + rows - 1}"
        with connection.cursor() as cursor:
            cursor.execute(
                f"WITH RECURSIVE copy(n) AS ({numbers}) INSERT INTO {table} ({', '.join(values)}) "  # noqa: S608
                f"SELECT {', '.join(values.values())} FROM copy CROSS JOIN {table} WHERE {base} "
                f"ORDER BY copy.n, {table}.id"
            )

    def _count(self) -> None:
        """The counters, and what the database knows of its tables, as on a site that grew to this size."""
        recount(self.study, KIND)
        with connection.cursor() as cursor:
            for sql in connection.ops.sequence_reset_sql(no_style(), list(TABLES)):
                cursor.execute(sql)
            if connection.vendor == "postgresql":  # which does so by itself, but later
                cursor.execute("ANALYZE" if connection.in_atomic_block else "VACUUM ANALYZE")


def _keys(model: type[models.Model]) -> tuple[int, int]:
    found = model._default_manager.aggregate(first=Min("pk"), last=Max("pk"))
    return found["first"], found["last"]


def _make_base(study: Study, base: int) -> None:
    n_left = base // FINISHED_PER_LEFT
    crowd.add_people(study, base + n_left)
    people = list(study.participants.order_by("-pk"))
    for n, person in enumerate(people[:n_left]):
        _leave(person, after=n % crowd.TRIALS_EACH)
    today = timezone.now().date()
    until = today + timedelta(days=study.external_id_days)
    RecruitmentRecord.objects.filter(study=study).update(until=until)
    _pack_draws(study)


def _leave(person: Participant, after: int) -> None:
    """They judged `after` trials, saw one more, and closed the page."""
    trials = person.trials.all()
    Participant.objects.filter(pk=person.pk).update(stage=Participant.Stage.WITHDRAWN)
    Judgment.objects.filter(trial__in=trials.filter(position__gt=after)).delete()
    trials.filter(position__gt=after + 1).delete()
    person.stage, person.position = Participant.Stage.TRIAL, after + 1
    person.page_reached = FIRST_TRIAL_PAGE + after
    person.debriefed_at = person.finished_at = person.cheated = None
    person.comments = person.excluded_by = ""
    person.left_at = person.last_seen_at
    person.save()


def _pack_draws(study: Study) -> None:
    """Records as long as those of draws: half of a stratum is at the lowest exposure, on average."""
    pools = {
        stratum: list(Item.objects.of_stratum(stratum).order_by("pk").values_list("pk", flat=True))
        for stratum in set(crowd.STRATA)
    }
    rng = random.Random(1)
    trials = list(Trial.objects.select_related("participant"))
    for trial in trials:
        pool = pools[trial.stratum]
        tied = sorted(rng.sample(pool, max(1, len(pool) // 2)))
        key = rng_key(trial.participant.seed, "draw", trial.position)
        trial.draw = DrawRecord.of(tied, key, rng.randrange(10_000)).pack()
    Trial.objects.bulk_update(trials, ["draw"], batch_size=500)
