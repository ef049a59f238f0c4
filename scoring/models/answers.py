"""Questions to language models and their answers; grades of answers, by judges (models) and by people."""

from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.template.defaultfilters import floatformat
from django.urls import reverse

from experiment.models import Item, Judgment, ResearchField, Study
from lib.jobs.models import Job
from scoring.domain.generating import Finish, Prices, Usage
from scoring.models.language_models import LanguageModel
from scoring.models.servers import ModelServer


class Kind(models.TextChoices):
    """Jobs for which no model is opened; the kinds of models are in scoring/backends/registry.py."""

    EXACT = "exact", "exact match (a judge that only tests the set-up)"
    IMPORTED = "imported", "imported"


class GeneratingJob(Job):
    """A language model is asked, one message after the other; `model_args` are those of the generator."""

    # Services check it: a new kind needs no migration
    generator = models.CharField(
        max_length=12, help_text="Kind of model, as commands name it; or exact, or imported."
    )
    model_args = models.JSONField(default=dict, blank=True)
    server = models.ForeignKey(
        ModelServer,
        models.SET_NULL,
        related_name="+",
        null=True,
        blank=True,
        editable=False,
        help_text="Server of the site's list that the run used last, whose spending limit it counts towards.",
    )
    instructions = models.TextField(
        help_text="Instructions to the model, before placeholders are filled in."
    )
    prompt_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    completion_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    budget_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    budget_money = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    fingerprint = models.CharField(max_length=64, db_index=True, editable=False)
    identity = models.JSONField(default=dict, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        abstract = True

    def get_absolute_url(self) -> str:
        raise NotImplementedError

    @property
    def model_name(self) -> str:
        """On the server; of a folder, its last two parts."""
        folder = PurePosixPath(self.model_args.get("pretrained", ""))
        parts = "/".join(folder.parts[-2:]).lstrip("/")
        return str(self.model_args.get("model") or parts or self.generator)

    @property
    def prices(self) -> Prices | None:
        """Prices of a million tokens read and written; None where they were not given."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return Prices(Decimal(self.prompt_price), Decimal(self.completion_price))


class WritingJob(GeneratingJob):
    """About one field of research."""

    may_ask = "experiment.services.work.may_lead"

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="+")

    class Meta:
        abstract = True


class ModelAnswer(models.Model):
    """A model's answer, as it came, and what it took. It stays as it is, unless it failed and is asked for again."""

    # The turns before this answer that are not those of an earlier one
    messages = models.JSONField(default=list)
    text = models.TextField(blank=True)
    thought = models.TextField(
        blank=True, help_text="Reasoning of the model, which is not part of the answer."
    )
    finish = models.CharField(max_length=10, choices=[(f.value, f.value) for f in Finish])
    detail = models.TextField(blank=True, help_text="Why there is no complete answer.")
    model = models.CharField(
        max_length=200, blank=True, help_text="Name of the model on the server."
    )
    request = models.JSONField(default=dict)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    thought_tokens = models.PositiveBigIntegerField(
        null=True,
        help_text="Tokens of a thought, among the tokens written, according to the server.",
    )
    seconds = models.FloatField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    @property
    def said_seconds(self) -> float | None:
        """None where it is not known how long the answer took, for which 0 is stored."""
        return self.seconds or None

    @property
    def usage(self) -> Usage | None:
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return Usage(self.prompt_tokens, self.completion_tokens, self.thought_tokens or 0)


class AnsweringRun(GeneratingJob):
    """A model answers a study's questions; `instructions` is the system prompt, `items` are the questions, in order.

    Its answers belong to the questions, as scores do to test cases.
    """

    runner = "scoring.services.answering.run"
    may_ask = "experiment.services.work.may_work"

    study = models.ForeignKey(Study, models.CASCADE, related_name="answering_runs")
    language_model = models.ForeignKey(LanguageModel, models.PROTECT, related_name="answering_runs")
    items = models.JSONField(default=list)
    asks_confidence = models.BooleanField(
        default=False, help_text="Whether it is asked after each answer how confident it is."
    )
    is_simulated = models.BooleanField(
        "simulated", default=False, help_text="Simulated, to show what results look like."
    )

    class Meta:
        ordering = ("-pk",)
        verbose_name = "answering run"
        constraints = (GeneratingJob.status_constraint("answering_run_status_known"),)

    def __str__(self) -> str:
        return f"answers of {self.language_model} to {self.study}"

    def get_absolute_url(self) -> str:
        return reverse("lab:answering_run", args=[self.study.slug, self.pk])


class Answer(ModelAnswer):
    """A model's answer to a question, in whatever state it came."""

    run = models.ForeignKey(AnsweringRun, models.CASCADE, related_name="answers")
    item = models.ForeignKey(Item, models.PROTECT, related_name="answers")
    # As the server sent it; empty for a model in this process and an import
    raw: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    # 0 to 100, as people's: what the model said when it was asked after its answer, or what an imported file says
    confidence = models.FloatField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("run", "pk")
        constraints = (models.UniqueConstraint(fields=("run", "item"), name="answer_unique"),)

    def __str__(self) -> str:
        return f"{self.run.language_model}: {self.item}"


# What was graded: a model's answer, or what a participant wrote
OF_ONE = Q(answer__isnull=True) ^ Q(judgment__isnull=True)


class GradingPlan(models.Model):
    """How a study's answers are graded: by which rubric, and what people grade."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="grading_plan")
    rubric = models.JSONField(help_text="As scoring/domain/grading/rubric.py reads it.")
    people_share = models.FloatField("share of the answers that people grade", default=0.1)
    double_share = models.FloatField("share of these that two people grade", default=0.25)
    tolerance = models.FloatField(
        "points by which two people may differ",
        default=0.5,
        help_text="A third person settles larger differences, and differences about abstention.",
    )
    seed = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(people_share__range=(0, 1), double_share__range=(0, 1)),
                name="grading_plan_shares",
            ),
        )

    def __str__(self) -> str:
        return f"{self.study}: grading"


class GradingRun(GeneratingJob):
    """A judge grades answers; `instructions` is its prompt. `identity` holds the hashes of judge, prompt and rubric."""

    runner = "scoring.services.grading.runs.run"
    may_ask = "experiment.services.work.may_work"

    study = models.ForeignKey(Study, models.CASCADE, related_name="grading_runs")
    language_model = models.ForeignKey(
        LanguageModel, models.PROTECT, related_name="grading_runs", null=True, blank=True
    )
    rubric = models.JSONField()
    runs = models.JSONField(
        default=list,
        help_text='Answering runs, by number; "people" for answers of participants.',
    )
    is_simulated = models.BooleanField("simulated", default=False)

    class Meta:
        ordering = ("-pk",)
        verbose_name = "grading run"
        constraints = (GeneratingJob.status_constraint("grading_run_status_known"),)

    def __str__(self) -> str:
        return f"grades of {self.study} by {self.judge_name}"

    @property
    def is_exact_match(self) -> bool:
        return self.generator == Kind.EXACT

    @property
    def judge_name(self) -> str:
        return str(self.language_model or Kind(self.generator).label)

    def get_absolute_url(self) -> str:
        return reverse("lab:grading_run", args=[self.study.slug, self.pk])


class JudgeGrade(ModelAnswer):
    """A judge's verdict on an answer: `text` as it came last; no points where it says none that can be read."""

    run = models.ForeignKey(GradingRun, models.CASCADE, related_name="grades")
    answer = models.ForeignKey(
        Answer, models.CASCADE, related_name="judge_grades", null=True, blank=True
    )
    judgment = models.ForeignKey(
        Judgment, models.CASCADE, related_name="judge_grades", null=True, blank=True
    )
    points = models.FloatField(null=True, blank=True, help_text="-1: abstained.")
    first_text = models.TextField(
        blank=True, help_text="The judge's complete first text, if it was not a grade."
    )
    tries = models.PositiveSmallIntegerField(default=1)

    class Meta:
        ordering = ("run", "pk")
        constraints = (
            models.UniqueConstraint(fields=("run", "answer"), name="judge_grade_of_answer"),
            models.UniqueConstraint(fields=("run", "judgment"), name="judge_grade_of_judgment"),
            models.CheckConstraint(condition=OF_ONE, name="judge_grade_of_one"),
        )

    @property
    def why_cut(self) -> str:
        """Why the answer is not whole; empty where it is."""
        if self.finish == Finish.STOP:
            return ""
        return f"{self.finish}: {self.detail}" if self.detail else self.finish

    def __str__(self) -> str:
        return f"{self.run}: {self.points}"


class PersonGrade(models.Model):
    """A person's grade of an answer, given without knowing whose it is; where two differ, a third settles it."""

    grader = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="grades", null=True
    )
    answer = models.ForeignKey(
        Answer, models.CASCADE, related_name="person_grades", null=True, blank=True
    )
    judgment = models.ForeignKey(
        Judgment, models.CASCADE, related_name="person_grades", null=True, blank=True
    )
    abstained = models.BooleanField()
    level = models.FloatField(null=True, blank=True, help_text="Points before deductions.")
    deductions = models.JSONField(default=list, help_text="Their names in the rubric.")
    points = models.FloatField(help_text="-1: abstained.")
    is_adjudication = models.BooleanField(default=False)
    is_simulated = models.BooleanField("simulated", default=False)
    note = models.TextField(blank=True)
    seconds = models.FloatField(null=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("grader", "answer", "is_adjudication"), name="person_grade_of_answer"
            ),
            models.UniqueConstraint(
                fields=("grader", "judgment", "is_adjudication"), name="person_grade_of_judgment"
            ),
            models.CheckConstraint(condition=OF_ONE, name="person_grade_of_one"),
            models.CheckConstraint(
                condition=Q(abstained=True, points=-1, level__isnull=True)
                | Q(abstained=False, level__isnull=False, points__lte=F("level")),
                name="person_grade_points",
            ),
        )

    def __str__(self) -> str:
        return f"{self.grader}: {self.points}"

    @property
    def told(self) -> str:
        """The grade, for the person who settles it."""
        if self.abstained:
            return "abstains"
        points = f"{floatformat(self.points)} {'point' if self.points == 1 else 'points'}"
        less = "".join(f", less {name}" for name in self.deductions)
        return f"{points}: {floatformat(self.level)}{less}" if less else points
