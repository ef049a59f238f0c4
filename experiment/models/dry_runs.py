from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.domain.dry_run import Pay, Recruiting, Simulated, recruiting
from experiment.models.studies import Study
from lib.jobs.models import Job

MOST_FINISHERS = 1_000
MOST_DROPOUT = 90


class DryRun(Job):
    """Simulated participants who take a study before people do, and what is to be expected by them.

    The study holds the simulated participants of one dry run at a time; what was found stays here.
    """

    runner = "experiment.simulation.dry_run.run"
    undo = "experiment.services.work.undo_dry_run"

    class Arrival(models.TextChoices):
        TRICKLE = "trickle", _("a few at a time")
        STEADY = "steady", _("about ten at a time")
        WAVES = "waves", _("a hundred within an hour, each day")
        FLASH = "flash", _("everybody within one hour")

    class PayPer(models.TextChoices):
        PARTICIPANT = "participant", _("for each who finishes")
        HOUR = "hour", _("per hour, by the median time")

    study = models.ForeignKey(Study, models.CASCADE, related_name="dry_runs")
    finishers = models.PositiveIntegerField(
        _("participants who finish"),
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_FINISHERS)],
    )
    dropout_percent = models.PositiveSmallIntegerField(
        _("of those who start, leave early (%)"),
        default=20,
        validators=[MaxValueValidator(MOST_DROPOUT)],
    )
    arrival = models.CharField(_("they come"), max_length=10, choices=Arrival, default="steady")
    seed = models.PositiveIntegerField(default=1)
    target = models.PositiveIntegerField(
        _("valid participants wanted"), default=200, validators=[MinValueValidator(1)]
    )
    per_day = models.PositiveIntegerField(
        _("people who start per day"), default=20, validators=[MinValueValidator(1)]
    )
    pay = models.DecimalField(
        _("pay"),
        max_digits=8,
        decimal_places=2,
        default=Decimal("12.00"),
        validators=[MinValueValidator(Decimal(0))],
    )
    pay_per = models.CharField(_("paid"), max_length=12, choices=PayPer, default=PayPer.HOUR)
    currency = models.CharField(
        _("currency"),
        max_length=3,
        default="EUR",
        validators=[RegexValidator(r"^[A-Z]{3}$", _("A currency has three letters: EUR."))],
    )
    fee_percent = models.DecimalField(
        _("fee of the recruitment site (%)"),
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
