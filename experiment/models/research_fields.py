from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.domain.roles import MOST_REVIEWS
from lib.name_fields import NameField


class ResearchField(models.Model):
    """A field of research: what its test cases are about, and who writes and accepts them.

    `Item.field` is its name, as exports and studies have it.
    """

    slug = models.SlugField(max_length=60, unique=True)
    name = NameField(
        max_length=80,
        unique=True,
        error_messages={"unique": _("Another field of this site has this name.")},
    )
    reviews_needed = models.PositiveSmallIntegerField(
        _("people who must accept a test case"),
        default=2,
        validators=[MaxValueValidator(MOST_REVIEWS)],
        help_text=_("Others than its writer. 0: the writer alone; the test case then says so."),
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="FieldMember", related_name="research_fields"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)
        verbose_name = _("field of research")
        verbose_name_plural = _("fields of research")

    def __str__(self) -> str:
        return self.name


class Subfield(models.Model):
    """A part of a field; `Item.subfield` is its name."""

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="subfields")
    name = NameField(max_length=80)
    purpose = models.TextField(
        blank=True, help_text=_("What a test case of it asks for; a model that drafts is told.")
    )

    class Meta:
        ordering = ("field", "name")
        constraints = (
            models.UniqueConstraint(fields=("field", "name"), name="subfield_name_unique"),
        )

    def __str__(self) -> str:
        return f"{self.field}: {self.name}"


class FieldMember(models.Model):
    """What a user is to one field; domain/roles.py says what that allows."""

    class Role(models.TextChoices):
        LEAD = "lead", _("lead: also its subfields, people and rules")
        CURATOR = "curator", _("curator: writes and reviews test cases")

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="field_memberships"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.CURATOR)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("field", "user")
        constraints = (
            models.UniqueConstraint(fields=("field", "user"), name="field_member_unique"),
            models.CheckConstraint(
                condition=models.Q(role__in=("lead", "curator")), name="field_member_role_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.field}"
