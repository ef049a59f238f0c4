"""Statements and actions of people about a version of a test case while it is written, reviewed and used."""

import uuid

from django.conf import settings
from django.db import models

from experiment.models.items import Item, known
from experiment.models.research_fields import ResearchField
from lib.name_fields import NameField


class ItemChange(models.Model):
    """One change of a version: its text, what is said of it, or its state. Appended, never changed."""

    class Action(models.TextChoices):
        CREATED = "created", "created"
        TEXT = "text", "changed the text"
        DETAILS = "details", "changed its details"
        NOTE = "note", "changed the note"
        VERDICT = "verdict", "took a verdict back"
        STATUS = "status", "changed the state"

    # Who did one of these wrote what others review
    WROTE = (Action.CREATED, Action.TEXT, Action.DETAILS)

    item = models.ForeignKey(Item, models.CASCADE, related_name="changes")
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )
    action = models.CharField(max_length=10, choices=Action)
    # The values that changed, by column: {"markup": ..., "status": ...}
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ("item", "pk")
        verbose_name = "change of a test case"
        verbose_name_plural = "changes of test cases"

    def __str__(self) -> str:
        return f"{self.item}: {self.action}"


class Review(models.Model):
    """A person's verdict on a version; it holds for the text and details with this hash only (`Item.reviewed_sha256`)."""

    class Verdict(models.TextChoices):
        ACCEPT = "accept", "accept"
        REVISE = "revise", "revise"
        REFUSE = "refuse", "reject"

    item = models.ForeignKey(Item, models.CASCADE, related_name="reviews")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="item_reviews", null=True
    )
    verdict = models.CharField(max_length=10, choices=Verdict)
    text = models.TextField("why", blank=True)
    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("item", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("item", "reviewer", "sha256"), name="review_once_per_text"
            ),
            known("review_verdict_known", "verdict", "accept", "revise", "refuse"),
        )

    def __str__(self) -> str:
        return f"{self.item}: {self.verdict}"


class Comment(models.Model):
    """A remark about a version or a passage of its markup, or an answer to one."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="comments")
    parent = models.ForeignKey(
        "self", models.CASCADE, related_name="answers", null=True, blank=True
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="item_comments", null=True
    )
    text = models.TextField("comment", max_length=5_000)
    quote = models.TextField(
        "about the passage", blank=True, help_text="If empty, about the whole text."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ("item", "pk")

    def __str__(self) -> str:
        return f"{self.item}: {self.text[:60]}"


class Explanation(models.Model):
    """Why a warning about a version's text is none; `finding` is `Finding.key`."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="explanations")
    finding = models.CharField(max_length=80)
    text = models.CharField("why the text is correct as it is", max_length=500)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("item", "finding")
        constraints = (
            models.UniqueConstraint(fields=("item", "finding"), name="explanation_unique"),
        )

    def __str__(self) -> str:
        return f"{self.item}: {self.finding}"


class ItemScratch(models.Model):
    """Typed words that no version can hold: their text cannot be read yet, or a detail is wrong.

    Of a version's draft each writer has one row; one without a version is a test case that was begun.
    """

    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="scratches")
    item = models.ForeignKey(Item, models.CASCADE, related_name="scratches", null=True, blank=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    values = models.JSONField(
        default=dict, help_text="The form as it was typed; empty after the version contains it."
    )
    edits = models.PositiveIntegerField(
        default=0, help_text="State of the version in this writer's last draft."
    )
    window = models.CharField(
        max_length=36, blank=True, help_text="Identifier of the page that saved last."
    )
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("item", "user"), name="scratch_of_writer"),)

    def __str__(self) -> str:
        return f"{self.item or self.field}: {self.user}"


class SavedView(models.Model):
    """Filters of a field's list of test cases under a name, for one person."""

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="saved_views")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = NameField(max_length=80)
    query = models.CharField(max_length=2_000, help_text="As in the page's address.")

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(fields=("field", "user", "name"), name="saved_view_unique"),
        )

    def __str__(self) -> str:
        return self.name
