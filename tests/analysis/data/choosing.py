"""Runs in which a model chose, and their answers, made directly."""

from collections.abc import Callable
from typing import Any

from experiment.models import Item, Study
from scoring.models import ChoiceRun, LanguageModel, ModelChoice

# From a test case's number, the side of the original and the number of the sample to the fields of an answer
Says = Callable[[int, str, int], dict[str, Any]]


def knows(n: int, original: str, sample: int) -> dict[str, Any]:
    return {"side": original, "confidence": 80.0}


def always_a(n: int, original: str, sample: int) -> dict[str, Any]:
    return {"side": "A", "confidence": 90.0}


def refuses_a(n: int, original: str, sample: int) -> dict[str, Any]:
    """Where the original is A."""
    return {"finish": "refused"} if original == "A" else {"side": "B", "confidence": 70.0}


def choose(study: Study, model: str = "org/a", says: Says = knows, **fields: Any) -> ChoiceRun:
    """A finished run over the study's test items, or the first `limit` of them; each is shown in both orders."""
    language_model, _ = LanguageModel.objects.get_or_create(
        name=model, defaults={"display_name": model, "family": model.split("/")[0]}
    )
    limit = fields.pop("limit", None)
    values = {"generator": "chat", "status": "finished", "form": "written", "prompt": "short"}
    run = ChoiceRun.objects.create(study=study, language_model=language_model, **(values | fields))
    items = study.items.filter(kind=Item.Kind.TEST).order_by("key")[:limit]
    ModelChoice.objects.bulk_create(
        ModelChoice(
            run=run,
            item=item,
            original_side=side,
            sample=sample,
            **({"finish": "stop", "seconds": 2.0} | says(n, side, sample)),
        )
        for n, item in enumerate(items)
        for side in ("A", "B")
        for sample in range(run.samples)
    )
    return run
