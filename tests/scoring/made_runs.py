"""Runs asked for in tests, what they came to, and a backend that something happens to."""

from collections.abc import Callable, Sequence
from typing import Any

from experiment.models import Study
from scoring.domain.backend import Group, GroupResult
from scoring.models import LanguageModel, ScoringRun
from scoring.services import token_store
from scoring.services.runs import create_run
from tests.scoring.ngram_backend import NgramBackend

VALUES = (
    "item__key",
    "unit",
    "ppl_original",
    "ppl_altered",
    "nll_all_original_nats",
    "nll_text_altered_nats",
    "tokens_all_original",
    "zlib_altered_bytes",
)


class Disturbed(NgramBackend):
    """Calls something before its nth batch (from 1)."""

    def __init__(self, nth: int, call: Callable[[], None], **fields: Any) -> None:
        super().__init__(**fields)
        self.nth, self.call, self.n = nth, call, 0

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        self.n += 1
        if self.n == self.nth:
            self.call()
        return super().score(groups)


def fail(error: BaseException) -> Callable[[], None]:
    def raise_it() -> None:
        raise error

    return raise_it


def ask(study: Study, **fields: Any) -> ScoringRun:
    model, _ = LanguageModel.objects.get_or_create(name="bigrams", display_name="Bigrams")
    values = {
        "backend": "transformers",
        "model_args": {"pretrained": "bigrams"},
        "batch_tokens": 400,
    }
    return create_run(study=study, language_model=model, **(values | fields))


def scores(run: ScoringRun) -> list[tuple[Any, ...]]:
    return sorted(run.item_scores.values_list(*VALUES))


def tokens(run: ScoringRun) -> list[dict[str, Any]]:
    return token_store.read_tokens(run).drop_columns("run").to_pylist()
