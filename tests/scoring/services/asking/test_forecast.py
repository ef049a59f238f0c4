"""The cost of a run before it starts, of every kind of run: a bound without a request, an expectation after five."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from scoring.domain.backend import ScoringError
from scoring.models import DraftingRun, LanguageModel, ModelServer
from scoring.models.answers import GeneratingJob
from scoring.services import answering, model_reviews, servers
from scoring.services.asking.settings import Asked
from scoring.services.drafting import runs as drafting
from scoring.services.drafting.sources import SourceAbstract
from scoring.services.grading import runs as grading
from tests.factories import make_item, make_research_field, make_user
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.answering.made import study_with_questions
from tests.scoring.services.drafting.abstracts import Lessons, abstract
from tests.scoring.services.grading.rows import make_answers, make_empty_study

pytestmark = pytest.mark.django_db
N = 7
PRICES = {"prompt_price": Decimal(2), "completion_price": Decimal(10)}


@dataclass(frozen=True)
class Case:
    """A kind of run about seven questions. says: the model's answer to each. each: requests about one."""

    service: Any
    make: Callable[[Asked], GeneratingJob]
    says: Callable[[dict[str, Any]], str]
    each: int = 1


def of_answers() -> Case:
    study = study_with_questions(N)
    return Case(answering, partial(answering.answering_run, study), lambda request: "Gene 1.")


def of_answers_with_confidence() -> Case:
    study = study_with_questions(N)
    make = partial(answering.answering_run, study, asks_confidence=True)
    return Case(answering, make, lambda request: "80", each=2)


def of_grades() -> Case:
    """Answers without a text have no judge."""
    study = make_empty_study()
    make_answers(study, [*(f"Gene {n}." for n in range(N)), ("", "refused")])
    return Case(grading, partial(grading.grading_run, study), lambda request: "2")


def of_drafts() -> Case:
    field = make_research_field("cooking", "Vegetables")
    abstracts = [SourceAbstract(n, abstract(n), "", "Vegetables") for n in range(1, N + 1)]

    def make(asked: Asked) -> DraftingRun:
        return drafting.store(drafting.draft_run(field, abstracts, asked), abstracts)

    return Case(drafting, make, Lessons())


def of_reviews() -> Case:
    field = make_research_field("cooking")
    for n in range(N):
        make_item(f"onion-{n}", field="cooking", status="in_review", subfield="")
    said = json.dumps({"reasons": "None.", "verdict": "accept"})
    return Case(model_reviews, partial(model_reviews.review_run, field), lambda request: said)


@pytest.fixture(params=[of_answers, of_answers_with_confidence, of_grades, of_drafts, of_reviews])
def case(request: pytest.FixtureRequest, stub: ChatStub) -> Case:
    found: Case = request.param()
    stub.text_of = found.says
    return found


def asked(stub: ChatStub, **more: Any) -> Asked:
    return Asked("chat", stub.args(max_tokens="500"), **more)


def test_a_forecast_bounds_what_is_spent_and_neither_asks_nor_stores(
    case: Case, stub: ChatStub
) -> None:
    n_models = LanguageModel.objects.count()
    make = partial(case.make, asked(stub, **PRICES))
    told = case.service.forecast(make)
    assert (told.requests, told.n_counted, told.seconds) == (N * case.each, 0, None)
    assert told.usage.completion_tokens == N * case.each * 500
    assert stub.requests == []
    assert LanguageModel.objects.count() == n_models

    run = make()
    assert type(run)._default_manager.filter(fingerprint=run.fingerprint).count() == int(
        run.pk is not None
    )
    run.save()
    spent = case.service.spent(case.service.run(run))
    assert len(stub.requests) == told.requests
    assert spent.usage.prompt_tokens <= told.usage.prompt_tokens
    assert spent.cost < told.cost


def test_five_real_prompts_tell_what_is_expected(case: Case, stub: ChatStub) -> None:
    make = partial(case.make, asked(stub, **PRICES))
    told = case.service.forecast(make, asks=True)
    assert (told.n_counted, len(stub.requests)) == (5, 5 * case.each)
    assert told.seconds > 0
    first = [json.dumps(request["messages"]) for request in stub.requests]
    run = make()
    run.save()
    spent = case.service.spent(case.service.run(run))
    later = [json.dumps(request["messages"]) for request in stub.requests[len(first) :]]
    assert set(first) <= set(later), "the very questions of the run"
    assert told.expected.total == pytest.approx(spent.usage.total, rel=0.05)
    assert float(told.expected_cost) == pytest.approx(float(spent.cost), rel=0.05)


def test_stored_answers_of_the_same_settings_tell_it_without_a_request(
    case: Case, stub: ChatStub
) -> None:
    run = case.make(asked(stub, **PRICES))
    run.save()
    run = case.service.run(run)
    n = len(stub.requests)
    if case.service is model_reviews:  # which reviews nothing twice
        run.reviews.update(sha256="")
    told = case.service.forecast(partial(case.make, asked(stub, **PRICES)))
    assert (told.n_counted, len(stub.requests)) == (N, n)
    assert told.expected_cost == pytest.approx(case.service.spent(run).cost)


def test_five_questions_keep_to_a_servers_spending_limit(stub: ChatStub) -> None:
    case, prices = of_answers(), {"price_in": Decimal(2), "price_out": Decimal(10)}
    made = ModelServer(name="Lab", kind="chat", address=stub.url, monthly_limit=0, **prices)
    servers.save(made, make_user("boss", is_superuser=True))
    make = partial(case.make, asked(stub, **PRICES))
    assert case.service.forecast(make).requests == N
    with pytest.raises(ScoringError, match="The spending limit of the model server “Lab”"):
        case.service.forecast(make, asks=True)
    assert stub.requests == []
