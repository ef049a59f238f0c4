"""Scoring runs, their scores, and imports of published ones."""

import math
import uuid
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.urls import reverse

from experiment.models import Item, Study
from lib.jobs.models import Job
from lib.name_fields import NameField
from scoring.domain.perplexity import Decision, decide
from scoring.models.counting import CountedRun, seen_in
from scoring.models.language_models import LanguageModel
from scoring.models.servers import ModelServer


class ScoringRunQuerySet(models.QuerySet["ScoringRun"]):
    def on_items(self) -> Self:
        """On test cases, not on a corpus."""
        return self.filter(corpus="")

    def of_models(self) -> Self:
        """Not of a training's checkpoints, which are steps on the way to a model."""
        return self.filter(language_model__checkpoint=None)

    def seen_in(self, studies: Any, *, checkpoints: bool = False) -> Self:
        """Runs that count in these studies."""
        runs = self.on_items() if checkpoints else self.on_items().of_models()
        return seen_in(runs, studies, "item_scores")


class ScoringRun(CountedRun, Job):
    """One model on one set of texts under one condition and prompt. This row is the truth about the work on it.

    Its scores belong to the items: every study in which it counts, and that shows one of them, sees them. `study` says
    whose items it was asked to score.

    The first block holds the settings; `identity` and `plan` are filled when a worker first opens the model and
    must be the same whenever the run is taken up again; the last block, with `Job`'s columns, is the state of the work.
    """

    runner = "scoring.services.execute.execute_slice"
    may_ask = "experiment.services.work.may_work"

    class Backend(models.TextChoices):
        """Runs for which no model is opened; the kinds of models are in scoring/backends/registry.py."""

        IMPORTED = "imported", "imported"

    class Condition(models.TextChoices):
        FULL = "full", "full abstract"
        ISOLATED = "isolated", "isolated sentences"
        SWAPPED = "swapped", "swapped context"

    class Prompt(models.TextChoices):
        NONE = "none", "none"
        PAPER = "paper", "as in the paper"
        CLEAN = "clean", "the paper's sentence, but only the abstract's tokens count"
        CHAT = "chat", "the model's chat template"
        CUSTOM = "custom", "custom text"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    study = models.ForeignKey(
        Study,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="scoring_runs",
        help_text="Study whose test cases were requested; the scores belong to the test cases.",
    )
    corpus = NameField(max_length=200, blank=True, help_text="Name of a reference corpus.")
    corpus_file = models.JSONField(
        default=dict,
        blank=True,
        help_text="Its path, SHA-256 and columns, from which texts are read again.",
    )
    is_anchor = models.BooleanField(
        "anchor text", default=False, help_text="A text that models have certainly memorised."
    )
    language_model = models.ForeignKey(LanguageModel, models.PROTECT, related_name="scoring_runs")
    # Services check it: a new kind needs no migration
    backend = models.CharField(
        max_length=12,
        help_text="Kind of model, as commands name it (but transformers for hf); or imported.",
    )
    model_args = models.JSONField(default=dict, blank=True)
    server = models.ForeignKey(
        ModelServer,
        models.SET_NULL,
        related_name="+",
        null=True,
        blank=True,
        editable=False,
        help_text="Server of the site's list that the run used last, whose spending limit it counts towards.",
    )
    condition = models.CharField(max_length=10, choices=Condition, default=Condition.FULL)
    prompt = models.CharField(max_length=10, choices=Prompt, default=Prompt.PAPER)
    prompt_text = models.TextField(blank=True, help_text="The template, with <choice abstract>.")
    source = models.CharField(
        max_length=10, blank=True, help_text="human or machine; empty for both."
    )
    seed = models.PositiveIntegerField(null=True, blank=True, help_text="Of the swaps.")
    limit = models.PositiveIntegerField(null=True, blank=True)
    batch_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="If empty, the backend chooses."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    # SHA-256 over the settings and the texts: what --resume looks for
    fingerprint = models.CharField(max_length=64, blank=True, db_index=True, editable=False)
    identity = models.JSONField(default=dict, blank=True, editable=False)
    plan = models.JSONField(default=list, blank=True, editable=False)

    total = models.PositiveIntegerField("pairs of texts in total", default=0)
    done = models.PositiveIntegerField("pairs scored, or named as not scorable", default=0)
    scored_tokens = models.PositiveBigIntegerField(default=0, editable=False)
    scoring_seconds = models.FloatField(default=0, editable=False)

    objects = ScoringRunQuerySet.as_manager()

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(study__isnull=True) | models.Q(corpus=""),
                name="scoring_run_study_or_corpus",
            ),
            Job.status_constraint("scoring_run_status_known"),
            models.CheckConstraint(
                condition=models.Q(condition__in=("full", "isolated", "swapped")),
                name="scoring_run_condition_known",
            ),
            models.CheckConstraint(
                condition=models.Q(prompt__in=("none", "paper", "clean", "chat", "custom")),
                name="scoring_run_prompt_known",
            ),
        )

    def __str__(self) -> str:
        texts = self.study or self.corpus or "test cases"
        return f"run {self.pk}: {self.language_model}, {self.condition}, {texts}"

    def get_absolute_url(self) -> str:
        if self.study is None:  # a corpus, or of a study that was deleted: no page in the lab
            return reverse("admin:scoring_scoringrun_change", args=[self.pk])
        return reverse("lab:scoring_run", args=[self.study.slug, self.pk])

    @property
    def tokens_per_s(self) -> float | None:
        return self.scored_tokens / self.scoring_seconds if self.scoring_seconds else None

    @property
    def mode(self) -> str:
        """The tokens that the reported perplexity counts: all but the first (`paper`), or the text's (`clean`)."""
        return "paper" if self.prompt == self.Prompt.PAPER else "clean"


class ItemScore(models.Model):
    """A pair of texts under a model. `ppl_*` follow the run's mode; the sums of both modes come from one pass.

    Imported rows hold what was published: perplexities and compressed lengths, and no sums.
    """

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="item_scores")
    item = models.ForeignKey(Item, models.PROTECT, related_name="scores")
    unit = models.PositiveSmallIntegerField(
        default=0, help_text="Number of the sentence in condition isolated, otherwise 0."
    )
    ppl_original = models.FloatField()
    ppl_altered = models.FloatField()
    # Sums over every token but the first (`all`) and over the text's own tokens (`text`), and how many those are
    nll_all_original_nats = models.FloatField(null=True)
    nll_all_altered_nats = models.FloatField(null=True)
    nll_text_original_nats = models.FloatField(null=True)
    nll_text_altered_nats = models.FloatField(null=True)
    tokens_all_original = models.PositiveIntegerField(null=True)
    tokens_all_altered = models.PositiveIntegerField(null=True)
    tokens_text_original = models.PositiveIntegerField(null=True)
    tokens_text_altered = models.PositiveIntegerField(null=True)
    zlib_original_bytes = models.PositiveIntegerField(null=True)
    zlib_altered_bytes = models.PositiveIntegerField(null=True)
    original_side = models.CharField(
        max_length=1, blank=True, help_text="A or B, if published files fix the sides."
    )

    class Meta:
        ordering = ("run", "item", "unit")
        constraints = (
            models.UniqueConstraint(fields=("run", "item", "unit"), name="item_score_once"),
            models.CheckConstraint(
                condition=models.Q(ppl_original__gt=0, ppl_altered__gt=0),
                name="item_score_ppl_positive",
            ),
        )

    def __str__(self) -> str:
        return f"{self.run_id}: {self.item_id}/{self.unit}"

    @property
    def decision(self) -> Decision:
        return decide(self.ppl_original, self.ppl_altered)

    @property
    def difference_nats(self) -> float:
        """Mean negative log-likelihood of the altered text less that of the original: above 0 is right."""
        return math.log(self.ppl_altered) - math.log(self.ppl_original)


class UnscoredText(models.Model):
    """A pair of texts, or a corpus' text, that could not be scored, and why. It counts as done."""

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="unscored")
    item = models.ForeignKey(Item, models.PROTECT, null=True, related_name="+")
    # The sentence of an item, or the row of a corpus
    unit = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=200)
    reason = models.TextField()

    class Meta:
        ordering = ("run", "item", "unit")
        constraints = (
            models.UniqueConstraint(
                fields=("run", "item", "unit"),
                condition=models.Q(item__isnull=False),
                name="unscored_item_once",
            ),
            models.UniqueConstraint(
                fields=("run", "unit"),
                condition=models.Q(item__isnull=True),
                name="unscored_row_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class CorpusScore(models.Model):
    """A text of a reference corpus under a model: what memorisation is judged against (the paper's equation 3)."""

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="corpus_scores")
    row = models.PositiveIntegerField(help_text="From 1, in the file's order.")
    text_id = models.CharField(max_length=200, blank=True)
    ppl = models.FloatField()
    nll_nats = models.FloatField(null=True)
    tokens = models.PositiveIntegerField(null=True)
    zlib_bytes = models.PositiveIntegerField()

    class Meta:
        ordering = ("run", "row")
        constraints = (
            models.UniqueConstraint(fields=("run", "row"), name="corpus_score_once"),
            models.CheckConstraint(condition=models.Q(ppl__gt=0), name="corpus_score_ppl_positive"),
        )

    def __str__(self) -> str:
        return f"{self.run_id}: row {self.row}"


class PublishedImport(Job):
    """An import of published data that an administrator asked for; `lines` say what it did."""

    runner = "scoring.imports.work.run"
    may_ask = "scoring.services.imports.may_ask"

    folder = models.CharField(
        max_length=200, help_text="Name below IMPORTS_DIR, or of the uploaded ZIP file."
    )
    upload = models.CharField(
        max_length=32,
        blank=True,
        help_text="Name of an uploaded ZIP in the storage; empty for a folder.",
    )
    slug = models.CharField("study", max_length=60)
    texts = models.CharField(max_length=20)
    lines = models.JSONField(default=list, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        verbose_name = "import"
        ordering = ("-pk",)
        constraints = (Job.status_constraint("import_status_known"),)

    def __str__(self) -> str:
        return f"{self.folder} for {self.slug}"

    def get_absolute_url(self) -> str:
        return reverse("lab:imports")
