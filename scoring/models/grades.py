"""Grades of answers, of models and of people, by judges (models) and by people."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from experiment.models import Judgment, Study
from scoring.models.answers import Answer
from scoring.models.generating import GeneratingJob, ModelAnswer
from scoring.models.language_models import LanguageModel

# What was graded: a model's answer, or what a participant wrote
OF_ONE = Q(answer__isnull=True) ^ Q(judgment__isnull=True)


class GradingPlan(models.Model):
    """How a study's answers are graded: by which rubric, and what people grade."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="grading_plan")
    rubric = models.JSONField(help_text=_("As scoring/domain/grading/rubric.py reads it."))
    people_share = models.FloatField(_("share of the answers that people grade"), default=0.1)
    double_share = models.FloatField(_("share of these that two people grade"), default=0.25)
    tolerance = models.FloatField(
        _("points by which two people may differ"),
        default=0.5,
        help_text=_("A third settles what they differ in by more, and whether it abstains."),
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

    study = models.ForeignKey(Study, models.CASCADE, related_name="grading_runs")
    language_model = models.ForeignKey(
        LanguageModel, models.PROTECT, related_name="grading_runs", null=True, blank=True
    )
    rubric = models.JSONField()
    runs = models.JSONField(
        default=list, help_text=_('Answering runs, by number; what people wrote is "people".')
    )
    is_simulated = models.BooleanField(_("simulated"), default=False)

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("grading run")
        constraints = (GeneratingJob.status_constraint("grading_run_status_known"),)

    def __str__(self) -> str:
        return f"grades of {self.study} by {self.judge_name}"

    @property
    def judge_name(self) -> str:
        return str(self.language_model or self.get_generator_display())

    def get_absolute_url(self) -> str:
        return reverse("lab:grading_run", args=[self.study.slug, self.pk])


class JudgeGrade(ModelAnswer):
    """What a judge said of an answer: `text` as it came last; no points where it says none that can be read."""

    run = models.ForeignKey(GradingRun, models.CASCADE, related_name="grades")
    answer = models.ForeignKey(
        Answer, models.CASCADE, related_name="judge_grades", null=True, blank=True
    )
    judgment = models.ForeignKey(
        Judgment, models.CASCADE, related_name="judge_grades", null=True, blank=True
    )
    points = models.FloatField(null=True, blank=True, help_text=_("-1: abstained."))
    first_text = models.TextField(
        blank=True, help_text=_("What the judge said first, whole, where it was no grade.")
    )
    tries = models.PositiveSmallIntegerField(default=1)

    class Meta:
        ordering = ("run", "pk")
        constraints = (
            models.UniqueConstraint(fields=("run", "answer"), name="judge_grade_of_answer"),
            models.UniqueConstraint(fields=("run", "judgment"), name="judge_grade_of_judgment"),
            models.CheckConstraint(condition=OF_ONE, name="judge_grade_of_one"),
        )

    def __str__(self) -> str:
        return f"{self.run}: {self.points}"


class PersonGrade(models.Model):
    """What a person gave an answer, not knowing whose it is; one of those who differ is settled by a third."""

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
    level = models.FloatField(null=True, blank=True, help_text=_("Points before deductions."))
    deductions = models.JSONField(default=list, help_text=_("Their names in the rubric."))
    points = models.FloatField(help_text=_("-1: abstained."))
    is_adjudication = models.BooleanField(default=False)
    is_simulated = models.BooleanField(_("simulated"), default=False)
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
