"""Models that take the test by choosing: which version of a test case is the original, and how sure they are."""

from typing import Any, Self

from django.db import models
from django.db.models import Q
from django.urls import reverse

from experiment.models import Item, Study
from experiment.models.items import text_hash
from scoring.domain.choosing.outcomes import Reply
from scoring.domain.generating import Finish
from scoring.models.answers import GeneratingJob, ModelAnswer
from scoring.models.counting import CountedRun, seen_in
from scoring.models.language_models import LanguageModel


class ChoiceRunQuerySet(models.QuerySet["ChoiceRun"]):
    def seen_in(self, studies: Any) -> Self:
        """Runs that count in these studies."""
        return seen_in(self, studies, "choices")


class ChoiceRun(CountedRun, GeneratingJob):
    """A model chooses in a study's test cases, each in both orders, `samples` times; `items` are these cases, in order.

    `instructions` is the prompt with {versions} where a test case is shown. Its choices belong to the items, as scores do.
    """

    runner = "scoring.services.choosing.runs.run"
    may_ask = "experiment.services.work.may_work"

    class Layout(models.TextChoices):
        PAIR = "pair", "two whole versions"
        MARKED = "marked", "one text with marked passages"

    class Form(models.TextChoices):
        WRITTEN = "written", "written, with a confidence"
        REASONED = "reasoned", "written, after reasoning"
        LIKELIHOOD = "likelihood", "probabilities of A and B"

    study = models.ForeignKey(
        Study, models.SET_NULL, related_name="choice_runs", null=True, blank=True
    )
    language_model = models.ForeignKey(LanguageModel, models.PROTECT, related_name="choice_runs")
    items = models.JSONField(default=list)
    prompt = models.CharField(max_length=10, help_text="The prompt's name.")
    form = models.CharField(max_length=10, choices=Form)
    layout = models.CharField(max_length=6, choices=Layout, default=Layout.PAIR)
    samples = models.PositiveSmallIntegerField(
        default=1, help_text="Answers to each test case in each order."
    )
    examples = models.JSONField(
        default=list, help_text="Practice items that are shown with their answers."
    )
    requests = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="Requests sent so far, whose answers may be lost if the process is killed.",
    )
    is_simulated = models.BooleanField("simulated", default=False)

    objects = ChoiceRunQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        verbose_name = "run of choices"
        constraints = (
            GeneratingJob.status_constraint("choice_run_status_known"),
            models.CheckConstraint(
                condition=Q(form__in=("written", "reasoned", "likelihood")),
                name="choice_run_form_known",
            ),
            models.CheckConstraint(
                condition=Q(layout__in=("pair", "marked")), name="choice_run_layout_known"
            ),
        )

    def __str__(self) -> str:
        return f"choices of {self.language_model} in {self.study or 'test cases'}"

    def get_absolute_url(self) -> str:
        if self.study is None:
            return reverse("admin:scoring_choicerun_change", args=[self.pk])
        return reverse("lab:choice_run", args=[self.study.slug, self.pk])

    @property
    def is_likelihood(self) -> bool:
        return self.form == self.Form.LIKELIHOOD

    @property
    def is_greedy(self) -> bool:
        """True if the model was asked at temperature 0, so that it writes what is likeliest."""
        said = self.model_args.get("temperature", "")
        return bool(said) and float(said) == 0

    @property
    def prompt_sha256(self) -> str:
        return text_hash(self.instructions)


UNPARSED = "unparsed"  # the state of an answer that is whole, and no choice
IS_READ = ~Q(side="") | Q(log_odds__isnull=False)


class ModelChoice(ModelAnswer):
    """A model's answer about a test case, shown with the original as `original_side`.

    Refusals, answers that were cut off, and texts that are no choice are states of their own (`state`), with no side.
    """

    run = models.ForeignKey(ChoiceRun, models.CASCADE, related_name="choices")
    item = models.ForeignKey(Item, models.PROTECT, related_name="choices")
    original_side = models.CharField(max_length=1, help_text="Where the original was shown.")
    sample = models.PositiveSmallIntegerField(default=0)
    side = models.CharField(
        max_length=1, blank=True, help_text="A or B; empty if none can be read, or for a tie."
    )
    confidence = models.FloatField(null=True, help_text="50 to 100 percent, as stated.")
    is_below_half = models.BooleanField(
        default=False,
        help_text="A confidence below 50 percent was stated, which contradicts the side and is not used.",
    )
    log_odds = models.FloatField(
        null=True, help_text="Of side A against side B, in nats, by the probabilities of tokens."
    )
    unused = models.CharField(
        max_length=20,
        blank=True,
        help_text="Why probabilities of tokens that came with the answer are not used.",
    )
    first_text = models.TextField(
        blank=True, help_text="The complete first text, if it was not a choice."
    )
    tries = models.PositiveSmallIntegerField(default=1)
    raw = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ("run", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("run", "item", "original_side", "sample"), name="model_choice_once"
            ),
            models.CheckConstraint(
                condition=Q(original_side__in=("A", "B"), side__in=("", "A", "B")),
                name="model_choice_sides",
            ),
            models.CheckConstraint(
                condition=Q(confidence=None) | Q(confidence__range=(50, 100)),
                name="model_choice_confidence",
            ),
        )

    @property
    def is_correct(self) -> bool:
        return self.side == self.original_side

    def __str__(self) -> str:
        return f"{self.run_id}: {self.item_id}, {self.side or self.state}"

    @property
    def is_read(self) -> bool:
        """As IS_READ has it."""
        return bool(self.side) or self.log_odds is not None

    @property
    def state(self) -> str:
        """How the answer ended; `unparsed` where it is whole, and no choice."""
        return UNPARSED if self.finish == Finish.STOP and not self.is_read else self.finish

    @property
    def reply(self) -> Reply | None:
        if not self.is_read:
            return None
        return Reply(self.original_side, self.side, self.confidence, self.log_odds)
