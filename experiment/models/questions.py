"""Questions with expert answers are items; here is what they are made from, and what people write in answer."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.models.research_fields import ResearchField
from experiment.models.trials import Judgment
from lib.name_fields import NameField


class QuestionTemplate(models.Model):
    """A question and its answers with slots, which rows of a table fill. One that has made questions never changes.

    `rules` are tried in order, [{"when": expression or "", "answer": text with slots}]: the first that holds of a row
    gives its answer; a row of which none holds makes no question.
    """

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="question_templates")
    key = NameField(max_length=80)
    question = models.TextField(help_text=_("With slots: {{ column }}."))
    rules = models.JSONField(default=list)
    categories = models.JSONField(default=dict, blank=True)
    is_demo = models.BooleanField(_("demo material"), default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ("field", "key")
        verbose_name = _("template of questions")
        verbose_name_plural = _("templates of questions")
        constraints = (
            models.UniqueConstraint(fields=("field", "key"), name="question_template_unique"),
        )

    def __str__(self) -> str:
        return self.key


class WrittenAnswer(models.Model):
    """What a participant wrote in answer to a question; stored with the judgment, and never changed.

    Words that were taken away leave the row: grades of them still count, as those of who did not know do.
    """

    judgment = models.OneToOneField(Judgment, models.CASCADE, related_name="written_answer")
    text = models.TextField(blank=True)
    abstained = models.BooleanField(help_text=_("“I do not know” was chosen."))
    erased = models.BooleanField(
        default=False,
        help_text=_("The words were taken away when the participant became anonymous."),
    )
    # On the browser's clock, as the times of a judgment
    first_ms = models.PositiveIntegerField(null=True)
    last_ms = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(abstained=True, erased=False, text="")
                | models.Q(abstained=False, erased=True, text="")
                | (models.Q(abstained=False, erased=False) & ~models.Q(text="")),
                name="written_answer_abstained_or_erased",
            ),
        )

    def __str__(self) -> str:
        return str(self.judgment)
