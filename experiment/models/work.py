"""Work of a study or field in the background, a row each: exports, purges, rules applied anew, imports, dry runs."""

from decimal import Decimal
from urllib.parse import parse_qs

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse

from experiment.domain.forecast import Pay, Recruiting, Simulated, recruiting
from experiment.domain.release import Form
from experiment.domain.release import parse as parse_form
from experiment.models.research_fields import ResearchField
from experiment.models.studies import Study
from lib.jobs.models import Job
from lib.name_fields import NameField


class TrialExport(Job):
    """An export of trials that a worker makes; its file is in the storage `results`.

    `query` and what `format` says ask for it. `key` names the data at the request, `state` those that the file holds: the
    data when the worker began. Files are a cache: they can be made again, and the oldest go.
    """

    runner = "experiment.services.export.jobs.run"
    may_ask = ""
    owner = "study_id"

    study = models.ForeignKey(Study, models.CASCADE, related_name="exports")
    query = models.TextField(help_text="As TrialQuery.encode writes it.")
    format = models.CharField(max_length=80, help_text="As Form.encode writes it.")
    key = models.CharField(max_length=64)
    state = models.CharField(max_length=64, blank=True)
    rows = models.PositiveIntegerField(default=0)
    manifest = models.JSONField(default=dict)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("study", "format", "key"), name="one_export_per_key"),
            Job.status_constraint("export_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.query} {self.format}"

    @property
    def path(self) -> str:
        """Where the file lies in the storage; equal paths, equal bytes."""
        return f"exports/{self.study_id}/{self.state}{self.form.suffix}"

    @property
    def form(self) -> Form:
        return parse_form(parse_qs(self.format))


class Purge(Job):
    """Past a study's day, a worker makes its participants' answers anonymous, some at a time; `done` counts participants."""

    runner = "experiment.services.retention.run"
    may_ask = "experiment.services.retention.may_ask"

    study = models.ForeignKey(Study, models.CASCADE, related_name="purges")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            Job.status_constraint("purge_status_known"),
            models.UniqueConstraint(
                fields=("study",),
                condition=models.Q(status__in=("waiting", "running")),
                name="one_open_purge",
            ),
        )

    def __str__(self) -> str:
        return "personal data past their day"

    def get_absolute_url(self) -> str:
        return reverse("lab:privacy", args=[self.study.slug])


class RuleApplication(Job):
    """A study's present rules are applied again to all who finished, in the order of their keys."""

    runner = "experiment.services.reapplying.run"
    may_ask = ""  # the rules have been changed already, by who could
    owner = "study_id"

    study = models.ForeignKey(Study, models.CASCADE, related_name="rule_applications")
    reached = models.BigIntegerField(default=0, help_text="The last participant who was decided.")
    participants = models.PositiveIntegerField("whose exclusion changed", default=0)
    trials = models.PositiveIntegerField("trials whose exclusion changed", default=0)

    class Meta:
        verbose_name = "application of rules"
        constraints = (
            Job.status_constraint("rule_application_status_known"),
            models.UniqueConstraint(
                fields=("study",),
                condition=models.Q(status__in=("waiting", "running")),
                name="one_open_rule_application",
            ),
        )

    @property
    def told(self) -> str:
        """How far the rules are applied."""
        so_far = f"{self.done} of {self.total} participants"
        if self.is_open:
            return f"The new rules are being applied: {so_far} checked."
        ended = "failed" if self.status == self.Status.FAILED else "was stopped"
        return f"Applying the new rules {ended} after {so_far}."

    @property
    def kind(self) -> str:
        """As addresses of work name it."""
        return self._meta.label_lower

    def __str__(self) -> str:
        return f"rules of {self.study}"


class ItemImport(Job):
    """A file of test cases that a worker brings into a field, as the person who sent it has seen it."""

    runner = "experiment.imports.store.writing.run"
    may_ask = "experiment.imports.store.writing.may_ask"

    research_field = models.ForeignKey(ResearchField, models.CASCADE, related_name="imports")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    upload = models.CharField(max_length=32, help_text="As kept_uploads names it.")
    shown = models.CharField(max_length=64, help_text="The fingerprint of the plan that was shown.")
    source = models.CharField(max_length=10)
    generator = NameField(max_length=80, blank=True)
    new_subfields = models.BooleanField(default=False)
    accepted_before = models.TextField(blank=True)
    columns = models.JSONField(
        default=dict, blank=True, help_text="Our names, and what the file calls them."
    )
    n_created = models.PositiveIntegerField(default=0)
    n_updated = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "import of test cases"
        constraints = (Job.status_constraint("item_import_status_known"),)

    def __str__(self) -> str:
        return f"import {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("lab:import_job", args=[self.research_field.slug, self.pk])


MOST_FINISHERS = 1_000
MOST_DROPOUT = 90


class DryRun(Job):
    """Simulated participants who take a study before people do, and what is to be expected by them.

    The study holds the simulated participants of one dry run at a time; what was found stays here.
    """

    runner = "experiment.simulation.dry_run.run"
    may_ask = "experiment.services.work.may_work"
    undo = "experiment.services.work.undo_dry_run"

    class Arrival(models.TextChoices):
        TRICKLE = "trickle", "a few at a time"
        STEADY = "steady", "about ten at a time"
        WAVES = "waves", "a hundred within an hour, each day"
        FLASH = "flash", "everybody within one hour"

    class PayPer(models.TextChoices):
        PARTICIPANT = "participant", "per participant who finishes"
        HOUR = "hour", "per hour, for the median time that participants take"

    study = models.ForeignKey(Study, models.CASCADE, related_name="dry_runs")
    finishers = models.PositiveIntegerField(
        "participants who finish",
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_FINISHERS)],
    )
    dropout_percent = models.PositiveSmallIntegerField(
        "participants who leave early (% of those who start)",
        default=20,
        validators=[MaxValueValidator(MOST_DROPOUT)],
    )
    arrival = models.CharField(
        "arrival of participants", max_length=10, choices=Arrival, default="steady"
    )
    seed = models.PositiveIntegerField(default=1)
    follow_percent = models.PositiveSmallIntegerField(
        "how often participants follow advice (% of advised trials)",
        default=40,
        validators=[MaxValueValidator(100)],
    )
    target = models.PositiveIntegerField(
        "valid participants wanted", default=200, validators=[MinValueValidator(1)]
    )
    per_day = models.PositiveIntegerField(
        "people who start per day", default=20, validators=[MinValueValidator(1)]
    )
    pay = models.DecimalField(
        "pay",
        max_digits=8,
        decimal_places=2,
        default=Decimal("12.00"),
        validators=[MinValueValidator(Decimal(0))],
    )
    pay_per = models.CharField(
        "basis of the pay", max_length=12, choices=PayPer, default=PayPer.HOUR
    )
    currency = models.CharField(
        "currency",
        max_length=3,
        default="EUR",
        validators=[RegexValidator(r"\A[A-Z]{3}\Z", "A currency has three letters: EUR.")],
    )
    fee_percent = models.DecimalField(
        "fee of the recruitment site (%)",
        max_digits=5,
        decimal_places=2,
        default=Decimal(0),
        validators=[MinValueValidator(Decimal(0)), MaxValueValidator(Decimal(200))],
    )
    result = models.JSONField(null=True, editable=False)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            Job.status_constraint("dry_run_status_known"),
            models.UniqueConstraint(
                fields=("study",),
                condition=models.Q(status__in=("waiting", "running")),
                name="one_open_dry_run",
            ),
        )

    def __str__(self) -> str:
        return f"dry run {self.pk}, {self.finishers} finishers"

    @property
    def found(self) -> Simulated | None:
        return Simulated.read(self.result) if self.result else None

    @property
    def recruiting(self) -> Recruiting | None:
        pay = Pay(self.pay, "hour" if self.pay_per == "hour" else "participant", self.fee_percent)
        return recruiting(self.found, self.target, self.per_day, pay) if self.found else None

    @property
    def path(self) -> str:
        """Where the sample export lies in the storage `results`."""
        return f"dry-runs/{self.study_id}/{self.pk}.csv"
