"""Accounts: invitations and membership, access tokens, and the audit trail."""

import hashlib
import json
from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.utils import timezone

from experiment.models.items import known
from experiment.models.studies import Study
from lib.name_fields import NameField


class Membership(models.Model):
    """The membership of a user in one study; domain/roles.py says what that allows."""

    class Role(models.TextChoices):
        RESEARCHER = "researcher", "researcher: sets up, watches, exports"
        CURATOR = "curator", "curator: test cases, grades of answers"
        AUDITOR = "auditor", "auditor: reads, without identifiers"

    study = models.ForeignKey(Study, models.CASCADE, related_name="memberships", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.RESEARCHER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "user")
        constraints = (
            models.UniqueConstraint(fields=("study", "user"), name="membership_unique"),
            known("membership_role_known", "role", "researcher", "curator", "auditor"),
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
    name = NameField("for whom", max_length=100)
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

    @property
    def gives(self) -> str:
        """The role of the person who accepts it, in a few words."""
        if self.study_id:
            return self.role
        return "may create studies" if self.may_create_studies else "an account"

    @property
    def promise(self) -> str:
        """The same as a sentence."""
        if self.study is not None:
            return f"The person who opens it joins {self.study.title} as {self.get_role_display()}."
        more = " and may create studies" if self.may_create_studies else ""
        return f"The person who opens it gets an account{more}."

    def is_open(self, now: datetime) -> bool:
        """True if its link still works."""
        return self.used_at is None and self.revoked_at is None and now < self.expires_at


class SignInAttempts(models.Model):
    """Attempts that have not succeeded, of one name from one address, from a moment on; neither can be read from the key."""

    key = models.CharField(max_length=64, primary_key=True)
    since = models.DateTimeField(db_index=True)
    n = models.PositiveIntegerField()

    def __str__(self) -> str:
        return self.key


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
        help_text="The only study that the token opens; if empty, all studies of the user.",
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


class AuditEvent(models.Model):
    """An action with its author, time and reason: appended, never changed (a trigger), each chained to the one before by its hash.

    It names people and studies by their names at that time, so that it outlives them; of a participant, it holds at most the pseudonym.
    """

    class Action(models.TextChoices):
        SIGNED_IN = "signed_in", "signed in"
        SIGN_IN_FAILED = "sign_in_failed", "refused a sign-in"
        SIGNED_OUT_ELSEWHERE = "signed_out", "signed out in other browsers"
        PASSWORD_CHANGED = "password_changed", "changed their password"
        SECOND_STEP = "second_step", "changed their two-step sign-in"
        JOINED = "joined", "accepted an invitation"
        STUDY_CREATED = "study_created", "created the study"
        STUDY_CHANGED = "study_changed", "changed the study"
        CONSENT_CHANGED = "consent_changed", "changed the consent text"
        PAY_CHANGED = "pay_changed", "changed the promised payment"
        RULES_CHANGED = "rules_changed", "changed the exclusion rules"
        ITEMS_CHANGED = "items_changed", "changed the test cases"
        ITEM_ACCEPTED = "item_accepted", "accepted a test case"
        ITEM_RETIRED = "item_retired", "retired a test case"
        FIELD_CREATED = "field_created", "created a field of research"
        FIELD_CHANGED = "field_changed", "changed a field of research"
        RECRUITMENT = "recruitment", "changed recruitment"
        CHANNEL_ADDED = "channel_added", "added a recruitment channel"
        CHANNEL_CHANGED = "channel_changed", "changed a recruitment channel"
        INVITED = "invited", "invited a member"
        INVITATION_REVOKED = "invitation_revoked", "withdrew an invitation"
        MEMBER_ADDED = "member_added", "added a member"
        ROLE_CHANGED = "role_changed", "changed a member's role"
        MEMBER_REMOVED = "member_removed", "removed a member"
        TOKEN_CREATED = "token_created", "created an access token"
        TOKEN_REVOKED = "token_revoked", "revoked an access token"
        EXPORTED = "exported", "exported data"
        IDS_EXPORTED = "ids_exported", "exported recruitment IDs"
        PAYMENTS_LISTED = "payments_listed", "made a list of payments"
        PAYMENTS_DOWNLOADED = "payments_downloaded", "downloaded a list of payments"
        WITHDRAWN = "withdrawn", "withdrew a participant's data"
        EXCLUDED_BY_HAND = "excluded_by_hand", "excluded a participant by hand"
        INCLUDED_AGAIN = "included_again", "included a participant again"
        PURGED = "purged", "deleted data past their retention date"
        WORK_STARTED = "work_started", "started work"
        WORK_STOPPED = "work_stopped", "stopped work"
        SERVER_ADDED = "server_added", "added a model server"
        SERVER_CHANGED = "server_changed", "changed a model server"
        SERVER_REMOVED = "server_removed", "removed a model server"

    at = models.DateTimeField()
    actor = models.CharField(max_length=150, blank=True, help_text="If empty, the site itself.")
    action = models.CharField(max_length=20)  # of Action, without a migration for each new one
    study = models.CharField(max_length=60, blank=True, db_index=True)
    details = models.JSONField(default=dict)
    reason = models.TextField(blank=True)
    previous_sha256 = models.CharField(max_length=64, blank=True)
    sha256 = models.CharField(max_length=64, unique=True)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor} {self.action} {self.study}"

    @property
    def label(self) -> str:
        """The action in words; the code of an action that this version does not know."""
        known = self.action in self.Action.values
        return str(self.Action(self.action).label) if known else self.action

    def chained(self) -> str:
        """SHA-256 (hex) of the previous hash and of all that the event says."""
        said: list[Any] = [
            self.previous_sha256,
            self.at.isoformat(timespec="microseconds"),
            self.actor,
            self.action,
            self.study,
            self.details,
            self.reason,
        ]
        text = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
