"""Servers of the site's list: who may use one, where its key goes, and what a run may spend there."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from benchmarks.completions.models import make_tokenizer, tiny_markov
from benchmarks.completions.stub import MODEL as SCORER
from benchmarks.completions.stub import CompletionsStub
from experiment.models import AuditEvent, Study
from lib.sealed import WrongKeyError, seal, unseal
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.http.address import (
    allowed_address,
    allowed_provider,
    key_of,
    parse_address,
)
from scoring.backends.opening import check_server
from scoring.backends.tokenizers import load_tokenizer
from scoring.checks import server_keys_open
from scoring.domain.backend import ScoringError
from scoring.models import AnsweringRun, ModelServer
from scoring.services import answering, runs, servers
from scoring.services.asking.settings import Asked
from scoring.services.choosing.runs import choice_run, reopen
from scoring.services.choosing.runs import run as choose
from scoring.services.execute import execute
from tests.factories import make_user
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.services.answering.made import study_with_questions

pytestmark = pytest.mark.django_db
KEY = "sk-marked-0123456789abcdef"
OLD, NEW = "old-key-" * 8, "new-key-" * 8


@pytest.fixture
def boss() -> Any:
    return make_user("boss", is_superuser=True)


def server_at(url: str, boss: Any, *, key: str | None = KEY, users: Any = (), **values: Any) -> Any:
    made = ModelServer(**{"name": "Provider", "kind": "chat", "address": url} | values)
    return servers.save(made, boss, users=users, key=key)


@pytest.fixture
def questions() -> Study:
    return study_with_questions(4)


def asked(stub: ChatStub, **changed: str) -> Asked:
    return Asked("chat", stub.args(**changed))


def finished(run: Any) -> Any:
    assert run.status == "finished", run.error
    return run


class TestKeys:
    def test_a_key_is_opened_by_its_own_key_and_purpose_alone(self) -> None:
        sealed = seal(KEY, OLD, "a")
        assert KEY not in sealed != seal(KEY, OLD, "a")
        assert unseal(sealed, OLD, "a") == KEY
        for key, purpose in ((NEW, "a"), (OLD, "b")):
            with pytest.raises(WrongKeyError):
                unseal(sealed, key, purpose)

    def test_no_row_and_no_event_holds_it(self, boss: Any) -> None:
        server = server_at("https://api.example.org", boss)
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM scoring_modelserver")
            assert KEY not in str(cursor.fetchall())
        told = str(list(AuditEvent.objects.values())) + repr(server) + repr(vars(server))
        assert "server_added" in told
        assert KEY not in told

    def test_it_goes_to_its_own_host_and_port_alone_and_never_unencrypted(
        self, boss: Any, settings: Any
    ) -> None:
        settings.SCORING_HOSTS, settings.SCORING_API_KEYS = ["other.example.org:*"], {}
        server_at("https://api.example.org:8443", boss)
        address = allowed_address("https://api.example.org:8443/v1")
        assert key_of(address) == KEY
        assert KEY not in repr(address)
        for url in ("https://other.example.org", "https://other.example.org:8443"):
            assert key_of(allowed_address(url)) == ""
        for url in ("https://api.example.org", "https://sub.api.example.org:8443"):
            with pytest.raises(ScoringError, match="on the page Model servers, or"):
                allowed_address(url)
        with pytest.raises(ScoringError, match="unencrypted"):
            key_of(allowed_address("http://api.example.org:8443"))
        with pytest.raises(ValidationError, match="only over https"):
            server_at("http://gpu.example.org:8000", boss, name="Plain")

    def test_a_key_of_the_list_comes_before_that_of_the_setting(
        self, boss: Any, settings: Any
    ) -> None:
        settings.SCORING_API_KEYS = {"api.example.org": "of the setting"}
        assert key_of(parse_address("https://api.example.org")) == "of the setting"
        server = server_at("https://api.example.org", boss)
        assert key_of(allowed_address("https://api.example.org")) == KEY
        servers.save(server, boss, key="")
        assert key_of(allowed_address("https://api.example.org")) == "of the setting"

    def test_it_does_not_follow_the_server_to_another_address(self, boss: Any) -> None:
        server = server_at("https://api.example.org", boss)
        server.address = "https://elsewhere.example.org"
        with pytest.raises(ValidationError, match="belongs to another address"):
            servers.save(server, boss)
        servers.save(server, boss, key="another")
        assert server.open_key() == "another"

    def test_it_follows_a_change_of_the_sites_key(
        self, boss: Any, settings: Any, tmp_path: Path
    ) -> None:
        settings.WITHDRAWAL_KEY = OLD
        server = server_at("https://api.example.org", boss)
        settings.WITHDRAWAL_KEY = NEW
        assert [message.id for message in server_keys_open(["default"])] == ["scoring.W001"]
        with pytest.raises(ScoringError, match="“Provider” cannot be read"):
            allowed_address("https://api.example.org")
        for name, key in (("old", OLD), ("wrong", "another")):
            (tmp_path / name).write_text(key)
        with pytest.raises(CommandError, match="1 keys of model servers belong to neither"):
            call_command("chores", "codes", old_key=tmp_path / "wrong")
        call_command("chores", "codes", old_key=tmp_path / "old", verbosity=0)
        server.refresh_from_db()
        assert server.open_key() == KEY
        assert server_keys_open(["default"]) == []


class TestTheList:
    def test_values_that_cannot_be_meant_are_refused_beside_their_field(self, boss: Any) -> None:
        server_at("https://api.example.org", boss)
        for field, values in {
            "address": {"address": "https://api.example.org/v2", "name": "Again"},
            "kind": {"kind": "hf"},
            "price_out": {"price_in": Decimal(1)},
            "monthly_limit": {"monthly_limit": Decimal(1)},
            "name": {"name": "Provider", "address": "https://b.example.org"},
        }.items():
            row = {"name": "B", "kind": "chat", "address": "https://b.example.org"} | values
            with pytest.raises(ValidationError) as raised:
                servers.save(ModelServer(**row), boss)
            assert field in raised.value.error_dict

    def test_events_name_what_was_changed(self, boss: Any) -> None:
        server = server_at("https://api.example.org", boss)
        server.currency = "EUR"
        servers.save(server, boss, key="another-key-0123456789")
        servers.save(server, boss)
        servers.remove(server, boss)
        events = AuditEvent.objects.filter(action__startswith="server_").order_by("pk")
        assert [event.action for event in events] == [
            "server_added",
            "server_changed",
            "server_removed",
        ]
        assert events[1].details["changed"] == ["currency", "key"]
        assert "another-key" not in str(events.values())

    def test_only_those_who_may_ask_for_work_use_a_server_of_everybody(
        self, boss: Any, study: Study
    ) -> None:
        server = server_at("https://api.example.org", boss)
        ruth, carl = make_user("ruth", study), make_user("carl")
        assert list(servers.usable_by(ruth)) == [server] == list(servers.usable_by(boss))
        assert not servers.usable_by(carl).exists()
        server.is_for_all = False
        servers.save(server, boss, users=[carl])
        assert not servers.usable_by(ruth).exists()
        study.members.add(carl, through_defaults={"role": "researcher"})
        assert list(servers.usable_by(carl)) == [server]
        server.is_active = False
        servers.save(server, boss, users=[carl])
        assert not servers.usable_by(carl).exists()


class TestRuns:
    def test_accounts_that_may_not_use_the_server_are_refused_when_a_run_is_created(
        self, boss: Any, questions: Study, stub: ChatStub
    ) -> None:
        ruth = make_user("ruth", questions)
        server = server_at(stub.url, boss, is_for_all=False, users=[boss])
        with pytest.raises(ScoringError, match="ruth may not use the model server “Provider”"):
            answering.answering_run(questions, asked(stub), by=ruth)
        completions = {"base_url": stub.url, "model": "m", "tokenizer": "t"}
        with pytest.raises(ScoringError, match="“Provider”"):
            runs.queue_runs(
                questions,
                backend="completions",
                model_args=completions,
                conditions=["full"],
                user=ruth,
            )
        assert answering.answering_run(questions, asked(stub), by=boss).server == server
        server.is_active = False
        servers.save(server, boss, users=[boss])
        with pytest.raises(ScoringError, match="“Provider” is not in use"):
            answering.answering_run(questions, asked(stub))

    def test_and_when_a_worker_begins_it(self, boss: Any, questions: Study, stub: ChatStub) -> None:
        ruth = make_user("ruth", questions)
        run = answering.start(answering.answering_run(questions, asked(stub), by=ruth), ruth)
        server_at(stub.url, boss, is_for_all=False)
        run = answering.run(run)
        assert run.status == "failed"
        assert "ruth may not use the model server “Provider”" in run.error
        assert stub.requests == []

    def test_the_key_of_the_list_is_sent_and_comes_back_in_nothing(
        self, boss: Any, questions: Study, stub: ChatStub
    ) -> None:
        server = server_at(stub.url, boss)
        stub.text_of = lambda request: f"It is {KEY}."
        run = answering.answering_run(questions, asked(stub), by=boss)
        run.save()
        run = answering.run(run)
        assert run.status == "finished", run.error
        assert {headers["Authorization"] for headers in stub.headers} == {f"Bearer {KEY}"}
        rows = [*AnsweringRun.objects.values(), *run.answers.values()]
        assert KEY not in str(rows)
        assert run.server == server

    def test_no_redirect_and_no_proxy_takes_the_key_elsewhere(
        self,
        boss: Any,
        questions: Study,
        stub: ChatStub,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with ChatStub() as elsewhere:
            monkeypatch.setenv("HTTP_PROXY", elsewhere.url)
            monkeypatch.setenv("ALL_PROXY", elsewhere.url)
            server_at(stub.url, boss)
            stub.fault, stub.redirect_to = "redirects", f"{elsewhere.url}/v1/chat/completions"
            run = answering.answering_run(questions, asked(stub), by=boss)
            run.save()
            run = answering.run(run)
            assert run.status == "failed"
            assert "redirects" in run.error
            assert KEY not in run.error
            assert stub.headers
            assert elsewhere.headers == []

    def test_a_run_stops_at_the_limit_of_the_month_and_goes_on_when_it_is_raised(
        self, boss: Any, questions: Study, stub: ChatStub
    ) -> None:
        prices = {"price_in": Decimal(0), "price_out": Decimal(500_000), "currency": "EUR"}
        server = server_at(stub.url, boss, monthly_limit=Decimal(0), **prices)
        run = answering.answering_run(questions, asked(stub, max_tokens="10"), by=boss)
        run.save()
        run = answering.run(run)
        assert (run.status, run.answers.count()) == ("cancelled", 0)
        assert "“Provider”" in run.error
        assert "0.00 of 0.00 EUR" in run.error
        assert "Questions left: 4." in run.error
        assert answering.can_resume(run)

        server.monthly_limit = Decimal("5.5")
        servers.save(server, boss)
        run = answering.run(answering.reopen(run))
        assert run.status == "cancelled"
        first = run.answers.count()
        assert 0 < first < 4
        today = run.answers.all()[0].at.date()
        spent = servers.spent(server, today)
        assert spent == sum(answer.completion_tokens for answer in run.answers.all()) / Decimal(2)
        assert spent <= Decimal("5.5")
        assert servers.spent(server, date(today.year - 1, today.month, 1)) == 0

        server.monthly_limit = Decimal(1000)
        servers.save(server, boss)
        run = answering.run(answering.reopen(run))
        assert (run.status, run.answers.count()) == ("finished", 4)

    def test_money_that_was_spent_keeps_the_prices_of_then(
        self, boss: Any, questions: Study, stub: ChatStub
    ) -> None:
        server = server_at(stub.url, boss, price_in=Decimal(0), price_out=Decimal(250_000))
        run = answering.answering_run(questions, asked(stub), limit=2, by=boss)
        run.save()
        run = answering.run(run)
        today = timezone.now().date()
        first = sum(answer.completion_tokens for answer in run.answers.all())
        assert servers.spent(server, today) == Decimal(first) / 4 > 0
        for price in (750_000, 500_000):
            server.price_out = Decimal(price)
            servers.save(server, boss)
            assert servers.spent(server, today) == Decimal(first) / 4
        run = answering.answering_run(questions, asked(stub), by=boss)
        run.save()
        run = answering.run(run)
        then = sum(answer.completion_tokens for answer in run.answers.all())
        assert servers.spent(server, today) == Decimal(first) / 4 + Decimal(then) / 2
        # In a month without a change, its prices are those of now
        long_ago = timezone.now() - timedelta(days=400)
        run.answers.update(at=long_ago)
        assert servers.spent(server, long_ago.date()) == Decimal(then) / 2

    def test_one_whose_account_left_the_study_is_refused_by_the_worker_as_before(
        self, boss: Any, questions: Study, stub: ChatStub
    ) -> None:
        server_at(stub.url, boss)
        ruth = make_user("ruth", questions)
        run = answering.start(answering.answering_run(questions, asked(stub), by=ruth), ruth)
        ruth.delete()
        run = answering.run(run)
        assert run.status == "cancelled" or "no longer" in run.error
        assert stub.requests == []


class TestScoring:
    @pytest.fixture
    def scoring(self, tmp_path: Path) -> Iterator[tuple[CompletionsStub, dict[str, str]]]:
        folder = make_tokenizer(tmp_path / "tokenizer", list(SENTENCES))
        tokenizer = load_tokenizer(str(folder))
        with CompletionsStub(tiny_markov(len(tokenizer)), tokenizer, 4096) as stub:
            args = {"base_url": stub.url, "model": SCORER, "tokenizer": str(folder)}
            yield stub, args | {"timeout": "60", "retry_seconds": "60"}

    def test_scores_and_choices_by_probabilities_stop_at_the_limit_too(
        self, boss: Any, study: Study, scoring: tuple[CompletionsStub, dict[str, str]]
    ) -> None:
        stub, args = scoring
        prices = {"price_in": Decimal(1000), "price_out": Decimal(0), "currency": "USD"}
        server = server_at(stub.url, boss, monthly_limit=Decimal(0), **prices)
        [run] = runs.queue_runs(
            study, backend="completions", model_args=args, conditions=["full"], user=boss
        ).waiting
        choice = choice_run(study, Asked("completions", args), by=boss)
        choice.save()
        run, choice = execute(run), choose(choice)
        for job, left in ((run, "Pairs of texts left"), (choice, "Answers left")):
            assert job.status == "cancelled", job.error
            assert "0.00 of 0.00 USD" in job.error
            assert left in job.error
        assert servers.spent(server, run.created_at.date()) == 0

        server.monthly_limit = Decimal(100_000)
        servers.save(server, boss)
        run = finished(execute(runs.reopen(run)))
        of_scores = servers.spent(server, run.created_at.date())
        assert of_scores == Decimal(run.scored_tokens) / 1000
        choice = finished(choose(reopen(choice)))
        read = sum(row.prompt_tokens for row in choice.choices.all())
        assert servers.spent(server, run.created_at.date()) == of_scores + 2 * Decimal(read) / 1000


def test_a_provider_of_the_list_needs_no_setting_and_has_its_own_key(
    boss: Any, settings: Any
) -> None:
    settings.SCORING_HOSTS = []
    with pytest.raises(ValidationError, match="with one of the providers"):
        server_at("nobody", boss, kind="inspect", name="No provider")
    server = server_at(" Anthropic ", boss, kind="inspect", is_for_all=False)
    assert (server.address, server.place) == ("anthropic", "inspect:anthropic")
    args = {"model": "anthropic/claude"}
    check_server("inspect", args)
    assert allowed_provider("anthropic").key == KEY
    assert servers.checked("inspect", args, boss) == server
    with pytest.raises(ScoringError, match="may not use the model server"):
        servers.checked("inspect", args, make_user("eve"))
    with pytest.raises(ScoringError, match="Texts may not be sent to the provider openai/azure"):
        check_server("inspect", {"model": "openai/azure/gpt"})
    with pytest.raises(ValidationError, match="has this address already"):
        server_at("anthropic", boss, kind="inspect", name="Again")
