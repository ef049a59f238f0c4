from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from experiment.models.studies import Study
from lib.name_fields import NameField


class AccessTokenQuerySet(models.QuerySet["AccessToken"]):
    def usable(self) -> Self:
        return self.filter(revoked_at=None, expires_at__gt=timezone.now())


class AccessToken(models.Model):
    """Lets a program act for a user, within scopes and for a time. Of the secret only its hash is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_tokens")
    study = models.ForeignKey(
        Study,
        models.CASCADE,
        null=True,
        related_name="access_tokens",
        help_text="The only study that it opens; none: all of the user's.",
    )
    name = NameField(max_length=80)
    scopes = models.JSONField(default=list)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_on = models.DateField(null=True)  # a day: no record of when somebody works
    revoked_at = models.DateTimeField(null=True)

    objects = AccessTokenQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at <= timezone.now()
