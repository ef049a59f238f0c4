"""Corpora of a field's literature, and trainings of language models on them."""

import uuid
from pathlib import Path
from typing import Self

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.text import slugify

from lib.jobs.models import Job
from lib.name_fields import NameField
from scoring.models.language_models import LanguageModel

TRAINED = "trained"  # the folder below MODELS_DIR
AT = " @ "  # between the name of a training and what tells a model of it from the others


class Corpus(models.Model):
    """A corpus that was built: its folder is CORPORA_DIR / slug, and the manifest there says what it holds."""

    slug = models.SlugField("name", max_length=80, unique=True)
    sha256 = models.CharField(max_length=64, help_text="Of its manifest.")
    manifest = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ("slug",)
        verbose_name = "corpus"
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.slug

    @property
    def published(self) -> str:
        """When its texts were published, as far as their dates are known."""
        first, last = (self.manifest.get(f"{end}_published") for end in ("first", "last"))
        return (
            f"{first or 'unknown'}" if first == last else f"{first or 'unknown'} \N{EN DASH} {last}"
        )

    @property
    def folder(self) -> Path:
        return Path(settings.CORPORA_DIR) / self.slug


class TrainingQuerySet(models.QuerySet["Training"]):
    def promised(self) -> Self:
        """Those that will make a model of their name, or may be continued to."""
        return self.exclude(status=Training.Status.FINISHED)

    def keeps(self, name: str) -> bool:
        """True if a model of this name is for a training alone: what it will make, and what is called after it."""
        of, at, _ = name.rpartition(AT)
        own = models.Q(pk__in=self.promised(), name=name)
        return self.filter(own | models.Q(name=of) if at else own).exists()


class Training(Job):
    """A language model is trained on a corpus. `recipe` and `identity` decide the weights; `manifest` says what came of it."""

    objects = TrainingQuerySet.as_manager()

    runner = "scoring.services.training.run.run"
    may_ask = "scoring.services.training.create.may_ask"
    queue = "training"  # hours of a GPU: a machine says whether it takes such work

    class Mode(models.TextChoices):
        LORA = "lora", "adapter (LoRA)"
        FULL = "full", "all weights"
        SCRATCH = "scratch", "from scratch"

    uuid = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    name = NameField(max_length=180, help_text="Name of the new model.")
    corpus = models.ForeignKey(Corpus, models.PROTECT, related_name="trainings")
    mode = models.CharField(max_length=10, choices=Mode)
    preset = NameField(max_length=40, blank=True)
    base = models.ForeignKey(
        LanguageModel, models.PROTECT, related_name="trainings_from", null=True, blank=True
    )
    model_args = models.JSONField(
        default=dict, blank=True, help_text="Arguments of the base model: pretrained, …"
    )
    tokenizer = NameField(
        max_length=500, blank=True, help_text="A folder. If empty, that of the base model."
    )
    recipe = models.JSONField(default=dict, help_text="A TrainingSettings.")
    keep = models.JSONField(
        default=list, blank=True, help_text="Steps whose weights are kept for lm_checkpoints."
    )
    fingerprint = models.CharField(max_length=64, db_index=True, editable=False)
    identity = models.JSONField(default=dict, blank=True, editable=False)
    manifest = models.JSONField(default=dict, blank=True, editable=False)
    tokens = models.PositiveBigIntegerField("tokens seen", default=0)
    tokens_per_s = models.FloatField(null=True, blank=True)
    language_model = models.OneToOneField(
        LanguageModel, models.SET_NULL, related_name="training", null=True, blank=True
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ("-pk",)
        verbose_name = "training"
        constraints = (
            Job.status_constraint("training_status_known"),
            models.CheckConstraint(
                condition=models.Q(mode__in=("lora", "full", "scratch")), name="training_mode_known"
            ),
        )

    def __str__(self) -> str:
        return f"training {self.pk}: {self.name}"

    def get_absolute_url(self) -> str:
        return reverse("lab:training", args=[self.pk])

    @property
    def output(self) -> Path:
        """Where what it makes is written, for `score` and the lab to find."""
        return Path(settings.MODELS_DIR) / TRAINED / slugify(self.name)

    @property
    def folder(self) -> Path:
        """Checkpoints, while it goes on and for `lm_checkpoints`."""
        return Path(settings.TRAININGS_DIR) / str(self.uuid)


class TrainingPoint(models.Model):
    """A point of a training's curves."""

    training = models.ForeignKey(Training, models.CASCADE, related_name="points")
    step = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()
    loss = models.FloatField(null=True)
    held_out_loss = models.FloatField(null=True)
    learning_rate = models.FloatField()
    tokens_per_s = models.FloatField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("training", "step")
        constraints = (
            models.UniqueConstraint(fields=("training", "step"), name="training_point_once"),
        )

    def __str__(self) -> str:
        return f"{self.training_id}, step {self.step}"


class Checkpoint(models.Model):
    """Weights kept along the way, and the language model that they are scored as."""

    training = models.ForeignKey(Training, models.CASCADE, related_name="checkpoints")
    step = models.PositiveIntegerField()
    tokens = models.PositiveBigIntegerField()
    held_out_loss = models.FloatField(null=True)
    language_model = models.OneToOneField(
        LanguageModel, models.SET_NULL, related_name="checkpoint", null=True, blank=True
    )

    class Meta:
        ordering = ("training", "step")
        constraints = (
            models.UniqueConstraint(fields=("training", "step"), name="checkpoint_once"),
        )

    def __str__(self) -> str:
        return f"{self.training_id}, step {self.step}"
