from django.db import models

from experiment.models import Item
from scoring.domain.perplexity import Decision, decide
from scoring.models.runs import ScoringRun


class ItemScore(models.Model):
    """A pair of texts under a model. `ppl_*` follow the run's mode; the sums of both modes come from one pass.

    Imported rows hold what was published: perplexities and compressed lengths, and no sums.
    """

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="item_scores")
    item = models.ForeignKey(Item, models.PROTECT, related_name="scores")
    unit = models.PositiveSmallIntegerField(
        default=0, help_text="The sentence, in condition isolated; else 0."
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
        max_length=1, blank=True, help_text="A or B, where published files fix the sides."
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
