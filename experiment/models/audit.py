import hashlib
import json
from typing import Any

from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEvent(models.Model):
    """Who did what, when and why: appended, never changed (a trigger), each chained to the one before by its hash.

    It names people and studies by their names at that time, so that it outlives them; it holds no participant's data.
    """

    class Action(models.TextChoices):
        SIGNED_IN = "signed_in", _("signed in")
        SIGN_IN_FAILED = "sign_in_failed", _("refused a sign-in")
        SIGNED_OUT_ELSEWHERE = "signed_out", _("signed out in other browsers")
        PASSWORD_CHANGED = "password_changed", _("changed their password")
        SECOND_STEP = "second_step", _("changed their sign-in in two steps")
        JOINED = "joined", _("accepted an invitation")
        STUDY_CREATED = "study_created", _("created the study")
        STUDY_CHANGED = "study_changed", _("changed the study")
        CONSENT_CHANGED = "consent_changed", _("changed the consent text")
        RULES_CHANGED = "rules_changed", _("changed the exclusion rules")
        ITEMS_CHANGED = "items_changed", _("changed the test cases")
        ITEM_ACCEPTED = "item_accepted", _("accepted a test case")
        ITEM_RETIRED = "item_retired", _("retired a test case")
        FIELD_CREATED = "field_created", _("created a field of research")
        FIELD_CHANGED = "field_changed", _("changed a field of research")
        RECRUITMENT = "recruitment", _("switched recruitment")
        CHANNEL_ADDED = "channel_added", _("added a recruitment channel")
        CHANNEL_CHANGED = "channel_changed", _("changed a recruitment channel")
        INVITED = "invited", _("invited a member")
        INVITATION_REVOKED = "invitation_revoked", _("took an invitation back")
        MEMBER_ADDED = "member_added", _("added a member")
        ROLE_CHANGED = "role_changed", _("changed a member's role")
        MEMBER_REMOVED = "member_removed", _("removed a member")
        TOKEN_CREATED = "token_created", _("created an access token")
        TOKEN_REVOKED = "token_revoked", _("revoked an access token")
        EXPORTED = "exported", _("exported data")
        IDS_EXPORTED = "ids_exported", _("exported recruitment ids")
        WITHDRAWN = "withdrawn", _("withdrew a participant's data")
        PURGED = "purged", _("deleted data past their retention date")
        WORK_STARTED = "work_started", _("started work")
        WORK_STOPPED = "work_stopped", _("stopped work")

    at = models.DateTimeField()
    actor = models.CharField(max_length=150, blank=True, help_text=_("Empty: the site itself."))
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
        """What was done, in words; the code of an action that this version does not know."""
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
