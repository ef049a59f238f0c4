from django.db import models

from experiment.models import Study
from lib.name_fields import NameField
from scoring.domain.known_models import MODELS, Membership


def names_of_the_site() -> set[str]:
    """Those that every study may see: of published models, scored yet or not, and of models with runs of the site.

    What other labs call theirs is seen in their studies, and stands in nobody's way.
    """
    of_site = models.Q(scoring_runs__is_site_wide=True) | models.Q(choice_runs__is_site_wide=True)
    return {
        *MODELS,
        *LanguageModel.objects.filter(of_site).order_by().values_list("name", flat=True),
    }


class LanguageModel(models.Model):
    """A language model, by the name it goes by; what exactly was loaded is each run's to say."""

    name = NameField(
        max_length=200,
        unique=True,
        unlike=(),
        held=names_of_the_site,
        help_text="As published, e.g. meta-llama/Llama-2-7b-chat-hf.",
    )
    display_name = NameField(max_length=80, help_text="Name in tables and figures.")
    family = NameField(max_length=40, blank=True, help_text="E.g. Llama-2.")
    n_parameters = models.PositiveBigIntegerField(null=True, blank=True)
    is_chat = models.BooleanField("tuned for chat or instructions", default=False)
    base_partner = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="chat_partners",
        help_text="The base model that this chat model is compared with.",
    )
    tuned_from = models.ForeignKey(
        "self",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="tuned_versions",
        help_text="The model that was fine-tuned into this one.",
    )
    training_cutoff = models.DateField(
        null=True,
        blank=True,
        help_text="Last possible date of its training data, or the last day of a known month; empty if not known.",
    )
    released = models.DateField(
        null=True, blank=True, help_text="The date, or the last day of the month."
    )
    is_demo = models.BooleanField("demonstration only", default=False)
    note = models.TextField(blank=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.display_name


class TrainingCorpus(models.Model):
    """The place of a corpus in a model's training data."""

    class Status(models.TextChoices):
        KNOWN = Membership.KNOWN.value, "known to be"
        LIKELY = Membership.LIKELY.value, "likely"
        UNKNOWN = Membership.UNKNOWN.value, "unknown"
        ABSENT = Membership.ABSENT.value, "known not to be"

    language_model = models.ForeignKey(
        LanguageModel, models.CASCADE, related_name="training_corpora"
    )
    corpus = NameField(max_length=200, help_text="Name of the corpus in runs on reference corpora.")
    status = models.CharField(max_length=10, choices=Status, default=Status.UNKNOWN)

    class Meta:
        verbose_name = "corpus in the training data"
        verbose_name_plural = "corpora in the training data"
        ordering = ("language_model", "corpus")
        constraints = (
            models.UniqueConstraint(
                fields=("language_model", "corpus"), name="training_corpus_once"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=("known", "likely", "unknown", "absent")),
                name="training_corpus_status_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.language_model}: {self.corpus}, {self.status}"


class ModelSet(models.Model):
    """The models that a study's results are about; others that were scored on its items are extras."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="model_set")
    name = NameField(max_length=120)
    language_models = models.ManyToManyField(
        LanguageModel, through="ModelSetMember", related_name="model_sets"
    )

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"


class ModelSetMember(models.Model):
    """A model's place in a set: the order in which tables list it."""

    model_set = models.ForeignKey(ModelSet, models.CASCADE, related_name="members")
    language_model = models.ForeignKey(LanguageModel, models.CASCADE)
    position = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ("model_set", "position")
        constraints = (
            models.UniqueConstraint(
                fields=("model_set", "language_model"), name="model_set_member_once"
            ),
            models.UniqueConstraint(
                fields=("model_set", "position"), name="model_set_position_once"
            ),
        )

    def __str__(self) -> str:
        return f"{self.model_set}: {self.language_model}"
