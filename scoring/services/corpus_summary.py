"""How well a model knows a corpus: zlib/perplexity ratios (the paper's equation 3), beside items and anchor texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiment.models import Study
from scoring.domain.memorisation import ratio
from scoring.models import ScoringRun, UnscoredText
from scoring.services.summary import unscored


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Of n texts' ratios, zlib bytes / perplexity."""

    n: int
    q1: float
    median: float
    q3: float


@dataclass(frozen=True)
class KnownTexts:
    """A run, and the ratios of its texts; None where nothing was scored."""

    run: ScoringRun
    ratio: Quartiles | None


@dataclass(frozen=True)
class CorpusSummary(KnownTexts):
    """A corpus, the same model's run on a study's items if there is one, and its anchor texts."""

    items: KnownTexts | None
    anchors: Sequence[KnownTexts]
    unscored: Sequence[UnscoredText]


def summarise_corpus(run: ScoringRun, study: Study | None = None) -> CorpusSummary:
    items = _items_run(run, study) if study else None
    anchors = ScoringRun.objects.filter(language_model=run.language_model, is_anchor=True)
    known = (KnownTexts(a, _of_corpus(a)) for a in anchors.exclude(pk=run.pk).order_by("pk"))
    return CorpusSummary(
        run,
        _of_corpus(run),
        KnownTexts(items, _of_items(items)) if items else None,
        [anchor for anchor in known if anchor.ratio],
        unscored(run),
    )


def _items_run(run: ScoringRun, study: Study) -> ScoringRun | None:
    """The run on whole items to set a corpus beside: of the same model; with the same prompt if there is one."""
    runs = (
        ScoringRun.objects.seen_in([study])
        .filter(
            language_model=run.language_model,
            condition=ScoringRun.Condition.FULL,
            status=ScoringRun.Status.FINISHED,
            model_args=run.model_args,
            limit=None,
        )
        .exclude(backend=ScoringRun.Backend.IMPORTED)
    )
    same_prompt = runs.filter(prompt=run.prompt, prompt_text=run.prompt_text)
    return same_prompt.order_by("-pk").first() or runs.order_by("-pk").first()


def _of_corpus(run: ScoringRun) -> Quartiles | None:
    return _quartiles([ratio(score.zlib_bytes, score.ppl) for score in run.corpus_scores.all()])


def _of_items(run: ScoringRun) -> Quartiles | None:
    pairs = run.item_scores.values_list("zlib_original_bytes", "ppl_original")
    return _quartiles([ratio(zlib, ppl) for zlib, ppl in pairs if zlib is not None])


def _quartiles(ratios: Sequence[float]) -> Quartiles | None:
    if not ratios:
        return None
    q1, median, q3 = (float(q) for q in np.quantile(ratios, (0.25, 0.5, 0.75)))
    return Quartiles(len(ratios), q1, median, q3)
