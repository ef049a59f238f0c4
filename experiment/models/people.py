from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.models.studies import Study
from lib.name_fields import NameField


class Membership(models.Model):
    """What a user is to one study; domain/roles.py says what that allows."""

    class Role(models.TextChoices):
        RESEARCHER = "researcher", _("researcher: sets up, watches, exports")
        CURATOR = "curator", _("curator: test cases, grades of answers")
        AUDITOR = "auditor", _("auditor: reads, without identifiers")

    study = models.ForeignKey(Study, models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.RESEARCHER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "user")
        constraints = (
            models.UniqueConstraint(fields=("study", "user"), name="membership_unique"),
            models.CheckConstraint(
                condition=models.Q(role__in=("researcher", "curator", "auditor")),
                name="membership_role_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user} {self.role} {self.study}"


class Invitation(models.Model):
    """A one-time link to become a member of a study, or of the site alone; its secret is stored as a hash only."""

    study = models.ForeignKey(
        Study, models.CASCADE, related_name="invitations", null=True, blank=True
    )
    role = models.CharField(max_length=10, choices=Membership.Role, blank=True)
    may_create_studies = models.BooleanField(default=False)
    name = NameField(_("for whom"), max_length=100)
    sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="invitations_made"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(study=None, role="")
                | models.Q(study__isnull=False, role__in=("researcher", "curator", "auditor")),
                name="invitation_role_of_study",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.role or 'site'} {self.study or ''}".strip()

    def is_open(self, now: datetime) -> bool:
        """Whether its link still works."""
        return self.used_at is None and self.revoked_at is None and now < self.expires_at


class SignInAttempts(models.Model):
    """Attempts that have not succeeded, of one name from one address, from a moment on; neither can be read from the key."""

    key = models.CharField(max_length=64, primary_key=True)
    since = models.DateTimeField(db_index=True)
    n = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.key
