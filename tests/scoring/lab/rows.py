"""Runs for the tests of pages: rows as a worker or an import leaves them."""

from collections.abc import Sequence
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import Study
from scoring.models import ItemScore, ScoringRun
from scoring.services.open_model import ensure_language_model
from scoring.services.runs import create_run


def ask(study: Study, name: str = "lab/tiny", **fields: Any) -> ScoringRun:
    """A run that waits."""
    model = ensure_language_model(name)
    asked = {"backend": "transformers", "model_args": {"pretrained": name}}
    return create_run(study=study, language_model=model, **(asked | fields))


def finish(run: ScoringRun, right: int, near: int = 0, **changes: Any) -> ScoringRun:
    """Give each of its test cases a score: the first `right` rightly decided, the last `near` by a hair."""
    items = study_items(run)
    pairs = [(10.0, 12.0) if n < right else (12.0, 10.0) for n in range(len(items))]
    for n in range(len(pairs) - near, len(pairs)):
        pairs[n] = (10.0, 10.001) if n < right else (10.001, 10.0)
    return store(run, pairs, **changes)


def store(run: ScoringRun, pairs: Sequence[tuple[float, float]], **changes: Any) -> ScoringRun:
    """Perplexities of original and altered for its first test cases, and the state of the run."""
    ItemScore.objects.bulk_create(
        ItemScore(run=run, item=item, ppl_original=a, ppl_altered=b)
        for item, (a, b) in zip(study_items(run), pairs, strict=False)
    )
    values = {"status": "finished", "done": len(pairs), "finished_at": timezone.now()}
    ScoringRun.objects.filter(pk=run.pk).update(**(values | changes))
    run.refresh_from_db()
    return run


def study_items(run: ScoringRun) -> list[Any]:
    assert run.study is not None
    items = run.study.items.filter(kind="test")
    items = items.filter(source=run.source) if run.source else items
    return list(items.order_by("key"))


def published(study: Study, name: str = "gpt2", right: int = 5, **fields: Any) -> ScoringRun:
    """An imported run on the human-created test cases."""
    run = ScoringRun.objects.create(
        study=study,
        language_model=ensure_language_model(name),
        backend="imported",
        total=8,
        **({"source": "human"} | fields),
        identity={
            "backend": "imported",
            "numbers": "published perplexities",
            "files": {"model_results/gpt2/PPL.npy": {"sha256": "ab" * 32, "shape": [8, 2]}},
        },
    )
    return finish(run, right)


def url(name: str, *args: Any, query: str = "") -> str:
    return reverse(f"lab:{name}", args=["memory", *args]) + query


def shown(client: Client, name: str, *args: Any, query: str = "") -> str:
    response = client.get(url(name, *args, query=query))
    assert response.status_code == 200
    return response.content.decode()


def form(**fields: Any) -> dict[str, Any]:
    values = {"model": "hf", "model_args": "pretrained=lab/tiny", "conditions": ["full"]}
    return values | {"prompt": "paper"} | fields
