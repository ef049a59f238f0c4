"""Fields of research with their people and subfields, and templates of their questions."""

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils import timezone

from experiment.domain.roles import MOST_REVIEWS
from experiment.models.items import known
from experiment.models.studies import Study
from experiment.models.trials import Judgment
from lib.name_fields import NameField


class ResearchField(models.Model):
    """A field of research: what its test cases are about, and who writes and accepts them.

    `Item.field` is its name, as exports and studies have it. services/usable.py says who may use its test cases.
    """

    slug = models.SlugField(max_length=60, unique=True)
    name = NameField(
        max_length=80,
        unique=True,
        unlike=(),
        error_messages={"unique": "Another field of this site has this name."},
    )
    reviews_needed = models.PositiveSmallIntegerField(
        "people who must accept a test case",
        default=2,
        validators=[MaxValueValidator(MOST_REVIEWS)],
        help_text=(
            "Not counting its writer. With 0, the writer accepts it, and the test case says so."
        ),
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="FieldMember", related_name="research_fields"
    )
    is_shared = models.BooleanField(default=False)  # with the whole site
    shared_with = models.ManyToManyField(Study, related_name="shared_fields", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        verbose_name = "field of research"
        verbose_name_plural = "fields of research"

    def __str__(self) -> str:
        return self.name


class Subfield(models.Model):
    """A part of a field; `Item.subfield` is its name."""

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="subfields")
    name = NameField(max_length=80, unlike=("field_id",))
    purpose = models.TextField(
        blank=True,
        help_text="Aim of test cases in this subfield, also given to models that draft.",
    )

    class Meta:
        ordering = ("field", "name")
        constraints = (
            models.UniqueConstraint(fields=("field", "name"), name="subfield_name_unique"),
        )

    def __str__(self) -> str:
        return f"{self.field}: {self.name}"


class FieldMember(models.Model):
    """The membership of a user in one field; domain/roles.py says what that allows."""

    class Role(models.TextChoices):
        LEAD = (
            "lead",
            ("lead: does what a curator does, and manages the field's subfields, people and rules"),
        )
        CURATOR = "curator", "curator: writes and reviews test cases"
        READER = "reader", "reader: takes accepted test cases into their own studies"

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="field_memberships"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.CURATOR)
    created_at = models.DateTimeField(auto_now_add=True)
    agreed_at = models.DateTimeField(
        null=True,
        default=timezone.now,
        help_text="Empty: somebody has asked them to join, and they have no right yet.",
    )

    class Meta:
        ordering = ("field", "user")
        constraints = (
            models.UniqueConstraint(fields=("field", "user"), name="field_member_unique"),
            known("field_member_role_known", "role", "lead", "curator", "reader"),
        )

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.field}"

    @property
    def is_asked(self) -> bool:
        """True if they have not joined yet."""
        return self.agreed_at is None


class QuestionTemplate(models.Model):
    """A question and its answers with slots, which rows of a table fill. One that has made questions never changes.

    `rules` are tried in order, [{"when": expression or "", "answer": text with slots}]: the first that holds of a row
    gives its answer; a row of which none holds makes no question.
    """

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="question_templates")
    key = NameField(max_length=80, unlike=("field_id",))
    question = models.TextField(help_text="With slots: {{ column }}.")
    rules = models.JSONField(default=list)
    categories = models.JSONField(default=dict, blank=True)
    is_demo = models.BooleanField("demo material", default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    # Of its texts, and so of the questions that it makes; nobody where a file has only named it
    writers = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="+", blank=True)

    class Meta:
        ordering = ("field", "key")
        verbose_name = "template of questions"
        verbose_name_plural = "templates of questions"
        constraints = (
            models.UniqueConstraint(fields=("field", "key"), name="question_template_unique"),
        )

    def __str__(self) -> str:
        return self.key


class WrittenAnswer(models.Model):
    """A participant's written answer to a question; stored with the judgment, and never changed.

    Words that were taken away leave the row: grades of them still count, as those of who did not know do.
    """

    judgment = models.OneToOneField(Judgment, models.CASCADE, related_name="written_answer")
    text = models.TextField(blank=True)
    abstained = models.BooleanField(help_text="“I do not know” was chosen.")
    erased = models.BooleanField(
        default=False,
        help_text="The words were removed when the participant became anonymous.",
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
