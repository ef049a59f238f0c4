import hashlib
import json
from functools import cached_property
from typing import Any, Self
from urllib.parse import quote

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models

from experiment.domain import markup as markup_rules
from experiment.domain.item_checks.characters import unstorable
from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_checks.text import check_item
from experiment.domain.item_columns import REVIEWED
from lib.name_fields import NameField


def text_hash(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, as hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def item_hash(markup: str, expert_answer: str = "") -> str:
    """The hash that identifies an item's text; of a question with its answer."""
    return text_hash(f"{markup}\n{expert_answer}" if expert_answer else markup)


def work_name(doi: str, key: str) -> str:
    """The publication behind an item: two items of one work are never shown to one person."""
    return doi.lower() or f"key:{key}"


def known(name: str, column: str, *values: str) -> models.CheckConstraint:
    """A constraint of this name: the column holds one of these values."""
    return models.CheckConstraint(condition=models.Q(**{f"{column}__in": values}), name=name)


class ItemQuerySet(models.QuerySet["Item"]):
    def accepted(self) -> Self:
        return self.filter(status=Item.Status.ACCEPTED)

    def latest_versions(self) -> Self:
        newer = Item.objects.filter(
            key=models.OuterRef("key"), version__gt=models.OuterRef("version")
        )
        return self.filter(~models.Exists(newer))

    def shown_by(self, studies: Any) -> Self:
        """Versions that these studies (rows, or a query of keys) draw from, and those that were given in them."""
        drawn = Item.objects.filter(study_items__study__in=studies).values("pk")
        given = Item.objects.filter(counts__study__in=studies, counts__assigned__gt=0).values("pk")
        return self.filter(models.Q(pk__in=drawn) | models.Q(pk__in=given))

    def drawable_in(self, study: Any) -> Self:
        """Accepted versions that the study (a row, or its key) holds and has not paused."""
        return self.accepted().filter(study_items__study=study, study_items__paused_at__isnull=True)

    def of_stratum(self, stratum: str) -> Self:
        """Items a stratum is drawn from: catch items, questions, or the test items of a source."""
        if stratum in (Item.Kind.CATCH, Item.Kind.QUESTION):
            return self.filter(kind=stratum)
        return self.filter(kind=Item.Kind.TEST, source=stratum)


class Item(models.Model):
    """One version of a test case. An edit of an accepted text makes a new row with the next `version`.

    A question's `markup` and `original` are its text, without alternations; it has an `expert_answer` and `categories`.
    """

    class Kind(models.TextChoices):
        TEST = "test", "test"
        CATCH = "catch", "catch"
        PRACTICE = "practice", "practice"
        QUESTION = "question", "question"

    class Source(models.TextChoices):
        HUMAN = "human", "human-created"
        MACHINE = "machine", "machine-created"

    class Status(models.TextChoices):
        DRAFT = "draft", "draft"
        IN_REVIEW = "in_review", "in review"
        ACCEPTED = "accepted", "accepted"
        RETIRED = "retired", "retired"

    class Texts(models.TextChoices):
        AUTHORED = "authored", "as written here"
        AS_PUBLISHED = "as-published", "as published"
        REPAIRED = "repaired", "repaired"

    class Collection(models.TextChoices):
        BRAINBENCH = "brainbench", "BrainBench"

    # Texts that people or models may have judged: nothing in them changes any more.
    FROZEN_STATUSES = (Status.ACCEPTED, Status.RETIRED)
    TEXT_FIELDS = ("key", "version", "markup", "original", "altered", "expert_answer", "sha256")

    key = NameField(max_length=80, help_text="The same for all versions of a test case.")
    version = models.PositiveIntegerField(default=1)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEST)
    source = models.CharField(max_length=10, choices=Source, default=Source.HUMAN)
    generator = NameField(
        max_length=80, blank=True, help_text="Person or model that altered it, such as GPT-4."
    )
    field = NameField(
        "field of research", max_length=80, blank=True, help_text="E.g. neuroscience."
    )
    subfield = NameField(max_length=80, blank=True)
    doi = NameField("DOI", max_length=200, blank=True, help_text="Without https://doi.org/.")
    publication_date = models.DateField(null=True, blank=True)
    markup = models.TextField(
        help_text="The abstract, with [[original, altered]] where the versions differ."
    )
    original = models.TextField(editable=False)
    altered = models.TextField(editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    # Of all that a verdict is about (REVIEWED); `sha256` is of the text alone
    reviewed_sha256 = models.CharField(max_length=64, editable=False)
    expert_answer = models.TextField(blank=True, help_text="For a question: an expert's answer.")
    # {"dimension": ["category", ...]}
    categories = models.JSONField(
        default=dict,
        blank=True,
        help_text="For a question: any number of categories per dimension.",
    )
    template = models.ForeignKey(
        "QuestionTemplate", models.PROTECT, related_name="questions", null=True, blank=True
    )
    # domain/questions/made_from.py; "cells": categories as a file had them, where we would write them otherwise
    made_from = models.JSONField(
        default=dict, blank=True, help_text="The row of the table that filled the template."
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.DRAFT)
    texts = models.CharField(max_length=12, choices=Texts, default=Texts.AUTHORED)
    is_damaged = models.BooleanField(
        "damaged as published",
        default=False,
        help_text="The published versions differ from what the authors meant.",
    )
    collection = models.CharField(
        max_length=20,
        choices=Collection,
        blank=True,
        help_text="The published set of the test case.",
    )
    collection_row = models.PositiveIntegerField(
        "row in the published file",
        null=True,
        blank=True,
        help_text="From 0, as the file counts.",
    )
    is_demo = models.BooleanField("demo material", default=False)
    accepted_by = models.PositiveSmallIntegerField(
        "people other than its writer who accepted it",
        null=True,
        blank=True,
        editable=False,
        help_text=(
            "Empty if there was no review: imported, built in, or accepted before reviews existed."
        ),
    )
    edits = models.PositiveIntegerField(
        default=0, editable=False, help_text="Raised by every change of the text."
    )
    note = models.TextField(blank=True, help_text="For curators; participants never see it.")
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    objects = ItemQuerySet.as_manager()

    class Meta:
        verbose_name = "test case"
        ordering = ("key", "version")
        constraints = (
            models.UniqueConstraint(fields=("key", "version"), name="item_key_version_unique"),
            models.CheckConstraint(condition=models.Q(version__gte=1), name="item_version_from_1"),
            models.CheckConstraint(
                condition=~models.Q(original=models.F("altered")), name="item_versions_differ"
            ),
            known("item_kind_known", "kind", "test", "catch", "practice", "question"),
            models.CheckConstraint(
                condition=models.Q(kind="question") ^ models.Q(expert_answer=""),
                name="item_answer_of_questions",
            ),
            known("item_source_known", "source", "human", "machine"),
        )
        indexes = (models.Index(fields=("source", "doi"), name="item_source_doi"),)

    def __str__(self) -> str:
        return f"{self.key} v{self.version}"

    @property
    def is_frozen(self) -> bool:
        return self.status in self.FROZEN_STATUSES

    @property
    def status_unless_accepted(self) -> str:
        """The state that a list of a study's test cases marks; empty where it is the usual one."""
        return "" if self.status == self.Status.ACCEPTED else self.get_status_display()

    @property
    def is_draft(self) -> bool:
        return self.status == self.Status.DRAFT

    @property
    def is_retired(self) -> bool:
        return self.status == self.Status.RETIRED

    @property
    def kind_and_source(self) -> str:
        """In words; only a test has a source."""
        kind = self.get_kind_display()
        return f"{kind}, {self.get_source_display()}" if self.kind == self.Kind.TEST else kind

    @property
    def made_from_row(self) -> str:
        """The end of a sentence that names a question's template: the row that filled it; empty where none did."""
        if not (row := self.made_from.get("row")):
            return ""
        said = f"; row {row} of the table with SHA-256 {self.made_from.get('table', '')[:12]}…"
        made = self.made_from.get("sha256")
        return f"{said}; edited since it was made" if made and made != self.sha256 else said

    @property
    def stratum(self) -> str:
        """The stratum that the item is drawn from, where it is no practice item."""
        return self.source if self.kind == self.Kind.TEST else self.kind

    @property
    def work(self) -> str:
        return work_name(self.doi, self.key)

    @property
    def doi_url(self) -> str:
        return f"https://doi.org/{quote(self.doi, safe='/:;()')}" if self.doi else ""

    @cached_property
    def abstract(self) -> markup_rules.Abstract:
        if self.is_question:  # whatever brackets it holds
            return markup_rules.Abstract((markup_rules.Plain(self.markup),))
        return markup_rules.parse(self.markup)

    @property
    def segments(self) -> tuple[markup_rules.Segment, ...]:
        return self.abstract.segments

    @property
    def warnings(self) -> list[Finding]:
        return [] if self.is_question else check_item(self.abstract, self.kind)

    @property
    def is_question(self) -> bool:
        return self.kind == self.Kind.QUESTION

    def clean(self) -> None:
        for name in ("markup", "expert_answer"):
            if why := unstorable(getattr(self, name)):
                raise ValidationError({name: f"A text cannot contain this: {why}."})
        try:
            self.derive_texts()
        except markup_rules.MarkupError as error:
            raise ValidationError({"markup": str(error)}) from error

    def derive_texts(self) -> None:
        """Fill `original`, `altered` and the hashes from the markup, of a question with its answer."""
        self.__dict__.pop("abstract", None)
        self.original, self.altered = self.abstract.original, self.abstract.altered
        if self.is_question:
            self.altered = ""
        self.sha256 = item_hash(self.markup, self.expert_answer)
        reviewed = {name: getattr(self, name) for name in REVIEWED}
        self.reviewed_sha256 = text_hash(json.dumps(reviewed, sort_keys=True, default=str))

    def save(self, *args: Any, **kwargs: Any) -> None:
        # The derived columns can never disagree with the markup, whoever writes the row.
        self.derive_texts()
        super().save(*args, **kwargs)
