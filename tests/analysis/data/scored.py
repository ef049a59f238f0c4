"""Runs with scores, and the tables that hold them."""

from typing import Any

from analysis.data import read as data_reader
from analysis.data.dataset import SourceData
from analysis.data.filters import ReportOptions
from experiment.models import Study
from scoring.models import ItemScore, LanguageModel, ScoringRun

SOURCES = ("human", "machine")


def score(
    study: Study, model: str = "org/a", ppl: tuple[float, float] = (2.0, 3.0), **fields: Any
) -> ScoringRun:
    """A finished run over the study's test items, or the first of them, or those of a source."""
    language_model, _ = LanguageModel.objects.get_or_create(
        name=model, defaults={"display_name": model}
    )
    values = {"backend": "transformers", "status": "finished", "condition": "full"} | fields
    run = ScoringRun.objects.create(study=study, language_model=language_model, **values)
    sources = [fields["source"]] if "source" in fields else SOURCES
    items = study.items.filter(kind="test", source__in=sources)
    for item in items.order_by("key")[: fields.get("limit")]:
        ItemScore.objects.create(run=run, item=item, ppl_original=ppl[0], ppl_altered=ppl[1])
    return run


def read(study: Study, source: str = "human", **options: Any) -> SourceData:
    return data_reader.read(study, ReportOptions(**options))[source]
