"""Models of providers, through Inspect: its mock, and the SDKs of OpenAI and Anthropic against servers on this machine.

Its Python is the one of `make inspect`, or the one that INSPECT_PYTHON names.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from scoring.backends import inspect_models
from scoring.backends.http.address import parse_address
from scoring.backends.opening import open_generator
from scoring.backends.trying import try_server
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import Finish, Generated, Generator, Message, Usage
from scoring.models import ModelServer
from scoring.services import servers
from tests.conftest import ROOT
from tests.factories import make_user
from tests.scoring.backends.chat import stub as chat_stub
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.backends.inspect_models.stubs import AnthropicStub, ResponsesStub

pytestmark = pytest.mark.sweep

HELLO = (Message("system", "Answer in a word."), Message("user", "Is it so?"))
SIDE = {
    "type": "object",
    "properties": {"side": {"type": "string", "enum": ["A", "B"]}},
    "required": ["side"],
    "additionalProperties": False,
}
MODEL = "gpt-4o"  # Inspect asks models whose names it does not know by OpenAI's newer interface
KEY = "a-marked-key-0123456789"


@pytest.fixture(scope="module")
def python() -> Path:
    """One that has Inspect, and the packages of two providers."""
    path = Path(os.environ.get("INSPECT_PYTHON") or ROOT / "var/inspect/bin/python")
    tried = [path, "-c", "import inspect_ai, openai, anthropic"]
    if not path.exists() or subprocess.run(tried).returncode:
        pytest.skip(f"Inspect is not at {path}: `make inspect` installs it")
    return path


@pytest.fixture
def site(python: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> LazySettings:
    monkeypatch.setattr(chat_stub, "MODEL", MODEL)
    settings.INSPECT_PYTHON = str(python)
    settings.SCORING_HOSTS = ["127.0.0.1:*", "inspect:mockllm"]
    return settings


@pytest.fixture
def anthropic() -> Iterator[AnthropicStub]:
    with AnthropicStub() as stub:
        yield stub


@contextmanager
def opened(
    model: str, stub: ChatStub | None = None, path: str = "", **args: str
) -> Iterator[Generator]:
    at = {"base_url": stub.url + path} if stub else {}
    known = {"model": model, "timeout": "20", "retry_seconds": "30"}
    generator = open_generator("inspect", known | at | args)
    try:
        yield generator
    finally:
        generator.close()


def openai(stub: ChatStub, **args: str) -> Any:
    return opened(f"openai/{MODEL}", stub, "/v1", **args)


def ask(generator: Generator, text: str = "", schema: Any = None, **how: Any) -> Generated:
    messages = (Message("user", text),) if text else HELLO
    return generator.generate(messages, schema, **how)


def test_the_mock_says_text_thought_tokens_and_end(
    site: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_models, "PROCESS", Path(__file__).with_name("mock.py"))
    with opened("mockllm/model", seed="7", concurrency="200") as generator:
        assert generator.identity()["inspect_ai"]
        answer = ask(generator, "yes", sample=2)
        assert (answer.text, answer.thought, answer.finish) == ("yes 9", "Is it?", Finish.STOP)
        assert answer.usage == Usage(29, 4, 3)
        assert ask(generator, "long").finish == Finish.LENGTH
        with pytest.raises(NoAnswerError, match=r"could not be asked \(RuntimeError: fails now\)"):
            ask(generator, "fails now")
        # As many at a time as were asked for
        began = time.monotonic()
        with ThreadPoolExecutor(200) as threads:
            texts = {a.text for a in threads.map(lambda n: ask(generator, f"slow {n}"), range(400))}
        assert len(texts) == 400
        assert time.monotonic() - began < 30  # one after the other they take 200 s


def test_openais_sdk_is_told_all_and_answers_with_token_probabilities(
    site: LazySettings, stub: ChatStub
) -> None:
    site.SCORING_API_KEYS = {stub.url.removeprefix("http://"): KEY}
    stub.text_of = lambda request: '{"side": "A"}'
    stub.logprobs = [("A", -0.2), ("B", -1.8)]
    with openai(stub, max_tokens="99", temperature="0", top_p="0.9", seed="7") as generator:
        answer = ask(generator, schema=SIDE, wants_tokens=True)
        assert KEY not in repr(generator.identity()) + repr(answer)
    assert answer.text == '{"side": "A"}'
    assert [token.text for token in answer.tokens] == list('{"side": "A"}')
    assert answer.tokens[-3].likeliest == (("A", -0.2), ("B", -1.8))
    (sent,) = stub.requests
    asked = {"model": MODEL, "temperature": 0, "top_p": 0.9, "seed": 7, "top_logprobs": 20}
    assert asked.items() <= sent.items()
    assert sent["response_format"]["json_schema"]["schema"]["properties"]["side"]["enum"] == ["A", "B"]  # fmt: skip
    assert f"Bearer {KEY}" in stub.headers[0].values()


@pytest.mark.parametrize(
    ("fault", "finish"),
    [
        ("filtered", Finish.FILTERED),
        ("prompt filtered", Finish.FILTERED),
        ("refuses", Finish.REFUSED),
        ("truncated", Finish.LENGTH),
        ("window", Finish.TOO_LONG),
        ("knows no logprobs", Finish.STOP),
    ],
)
def test_openais_ends_are_ours(
    site: LazySettings, stub: ChatStub, fault: str, finish: Finish
) -> None:
    stub.fault = fault
    stub.text_of = lambda request: "Yes, that is how it has always been."
    with openai(stub) as generator:
        answer = ask(generator, wants_tokens=True)
        assert answer.finish == finish
        assert bool(answer.text) == (finish in (Finish.STOP, Finish.LENGTH))


def test_a_failure_that_passes_is_asked_again_and_counted(
    site: LazySettings, stub: ChatStub
) -> None:
    stub.script = ["500", "429", ""]
    with openai(stub) as generator:
        answer = ask(generator)
    assert (answer.text, answer.resent, len(stub.requests)) == ("Yes.", 2, 3)


def test_a_redirect_is_not_followed_and_the_key_stays(site: LazySettings, stub: ChatStub) -> None:
    with ChatStub() as other:
        site.SCORING_API_KEYS = {stub.url.removeprefix("http://"): KEY}
        stub.fault, stub.redirect_to = "redirects", f"{other.url}/v1/chat/completions"
        with openai(stub) as generator, pytest.raises(ScoringError, match="redirects to another"):
            ask(generator)
        assert not other.requests


def test_no_key_of_the_environment_goes_to_a_given_address_nor_a_proxy(
    site: LazySettings, stub: ChatStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with openai(stub) as generator:
        assert ask(generator).text == "Yes."
    assert KEY not in repr(stub.headers)


def test_anthropics_sdk_answers_with_its_thought_and_cached_tokens(
    site: LazySettings, anthropic: AnthropicStub
) -> None:
    site.SCORING_API_KEYS = {f"127.0.0.1:{parse_address(anthropic.url).port}": KEY}
    anthropic.script = ["busy", "overloaded"]
    with opened("anthropic/claude-stub", anthropic, max_tokens="99") as generator:
        answer = ask(generator)
        assert (answer.text, answer.thought, answer.finish) == ("Yes.", "Is it?", Finish.STOP)
        assert (answer.usage and answer.usage.prompt_tokens, answer.resent) == (27, 2)
        assert anthropic.requests[0]["max_tokens"] == 99
        anthropic.fault = "window"
        assert ask(generator).finish == Finish.TOO_LONG
        anthropic.fault = "refuses"
        assert ask(generator).finish in (Finish.FILTERED, Finish.REFUSED)
        anthropic.fault = "key"
        with pytest.raises(ScoringError, match="does not accept the one in SCORING_API_KEYS"):
            ask(generator)
    assert all(KEY in repr(headers) for headers in anthropic.headers)
    assert "cache_control" not in repr(anthropic.requests)


def test_openais_newer_interface_answers_with_its_thought(site: LazySettings) -> None:
    with ResponsesStub() as stub, opened("openai/gpt-5", stub, "/v1") as generator:
        answer = ask(generator, schema=SIDE)
        assert (answer.text, answer.thought, answer.usage) == ("Yes.", "Is it?", Usage(7, 5, 3))
        assert stub.requests[-1]["text"]["format"]["name"] == "answer"


def test_a_provider_without_its_key_says_so(
    site: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.SCORING_HOSTS = ["inspect:openai"]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ScoringError, match=r"Inspect cannot open openai/gpt.*OPENAI_API_KEY"):
        open_generator("inspect", {"model": "openai/gpt-4o"})


@pytest.mark.django_db(transaction=True)
def test_a_provider_of_the_sites_list_is_sent_the_stored_key_and_tried(
    site: LazySettings, stub: ChatStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{stub.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    made = ModelServer(name="OpenAI", kind="inspect", address="openai")
    server = servers.save(made, make_user("boss", is_superuser=True), key=KEY)
    tried = {line.name: line.works for line in try_server(server.kind, server.address, MODEL)}
    assert tried["Answers"]
    assert all(f"Bearer {KEY}" in sent.values() for sent in stub.headers)
