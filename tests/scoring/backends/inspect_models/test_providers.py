"""Models of providers, through Inspect: its mock, and the providers' own SDKs against servers on this machine.

Its Python is the one of `make inspect`, or the one that INSPECT_PYTHON names.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
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
from tests.scoring.backends.inspect_models.stubs import (
    AnthropicStub,
    AzureStub,
    BedrockStub,
    FoundryStub,
    GoogleStub,
    MistralStub,
    ResponsesStub,
)

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
    """One that has Inspect, and the packages of the providers."""
    path = Path(os.environ.get("INSPECT_PYTHON") or ROOT / "var/inspect/bin/python")
    packages = (
        "inspect_ai, openai, anthropic, google.genai, mistralai, azure.ai.inference, aiobotocore"
    )
    tried = [path, "-c", f"import {packages}"]
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


@dataclass(frozen=True)
class Provider:
    """A provider's interface, and what Inspect tells and reads of it.

    key_in: the header of the key. thinks, takes_schema, gives_tokens, takes_seed: False where Inspect has nothing of the kind.
    """

    model: str
    stub: type[ChatStub]
    key_in: str
    thinks: bool = True
    takes_schema: bool = True
    gives_tokens: bool = False
    takes_seed: bool = True


INTERFACES = (
    Provider("google/gemini-2.5-flash", GoogleStub, "x-goog-api-key", gives_tokens=True, takes_seed=False),
    Provider("mistral/mistral-stub", MistralStub, "Authorization"),
    Provider("openai/azure/gpt-4o", AzureStub, "api-key", thinks=False, gives_tokens=True),
    Provider("azureai/mistral-stub", FoundryStub, "api-key", thinks=False, takes_schema=False),
    Provider("bedrock/anthropic.claude-stub", BedrockStub, "Authorization", takes_seed=False),
)  # fmt: skip
of_each = pytest.mark.parametrize("provider", INTERFACES, ids=lambda provider: provider.model)


@pytest.fixture
def interface(
    provider: Provider, site: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ChatStub]:
    """The provider's server, with its key."""
    with provider.stub() as stub:
        site.SCORING_API_KEYS = {stub.url.removeprefix("http://"): KEY}
        # Its SDK takes neither address nor key from anywhere else
        site.SCORING_HOSTS += ["inspect:bedrock"]
        monkeypatch.setenv("BEDROCK_BASE_URL", stub.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
        yield stub


def opened_at(provider: Provider, stub: ChatStub) -> Any:
    told = {"temperature": "0", "max_tokens": "99", "seed": "7"}
    return opened(provider.model, None if provider.stub is BedrockStub else stub, **told)


@of_each
def test_a_providers_sdk_is_told_all_that_it_takes_and_its_answer_is_read(
    provider: Provider, interface: ChatStub
) -> None:
    with opened_at(provider, interface) as generator:
        answer = ask(generator, schema=SIDE, wants_tokens=True)
        assert KEY not in repr(generator.identity()) + repr(answer)
    assert (answer.text, answer.finish) == ("Yes.", Finish.STOP)
    assert answer.thought == ("Is it?" if provider.thinks else "")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 5)
    assert bool(answer.tokens) == provider.gives_tokens
    if provider.gives_tokens:
        assert answer.tokens[0].likeliest[0][1] == -0.2
    (sent,), (headers,) = interface.requests, interface.headers
    assert KEY in {n.lower(): v for n, v in headers.items()}[provider.key_in.lower()]
    told = json.dumps(sent)
    assert ("99" in told, "Is it so?" in told, "Answer in a word." in told) == (True, True, True)
    assert ('["A", "B"]' in told) == provider.takes_schema
    assert ("seed" in told) == provider.takes_seed


@of_each
def test_a_providers_errors_are_ours_and_each_request_is_sent_once(
    provider: Provider, interface: ChatStub
) -> None:
    with opened_at(provider, interface) as generator:
        interface.script = ["429"]
        began = time.monotonic()
        answer = ask(generator)
        assert (answer.text, answer.resent, len(interface.requests)) == ("Yes.", 1, 2)
        if provider.stub is not BedrockStub:  # which names no pause
            assert time.monotonic() - began > 1
        interface.fault = "400"
        with pytest.raises(NoAnswerError, match=r"refused: 400: this cannot be meant\.$"):
            ask(generator)
        interface.fault = "401"
        with pytest.raises(ScoringError, match=r"does not accept the one in .* \(401: wrong key\)"):
            ask(generator)
        interface.fault = "window"
        assert ask(generator).finish == Finish.TOO_LONG
    assert len(interface.requests) == 5


@of_each
def test_a_providers_sdk_follows_no_redirect_with_the_key(
    provider: Provider, interface: ChatStub
) -> None:
    with ChatStub() as other, opened_at(provider, interface) as generator:
        interface.fault, interface.redirect_to = "redirects", f"{other.url}/v1/chat/completions"
        with pytest.raises(ScoringError, match="redirects to another one"):
            ask(generator)
        assert not other.headers
    assert len(interface.requests) == 1


LEAVES = """
import asyncio, importlib.util, sys
spec = importlib.util.spec_from_file_location("inspect_process", sys.argv[1])
process = importlib.util.module_from_spec(spec)
spec.loader.exec_module(process)
process._keep_to("http://127.0.0.1:9")
import aiohttp, httpx

async def leave():
    async with aiohttp.ClientSession() as session:
        await session.post(sys.argv[2], data=b"key")

async def leave_by_httpx():
    async with httpx.AsyncClient() as client:
        await client.post(sys.argv[2], content=b"key")

for way in (leave, leave_by_httpx):
    try:
        asyncio.run(way())
    except process.ElsewhereError as error:
        print(error)
"""


def test_no_request_leaves_for_another_address_than_the_given_one(
    python: Path, stub: ChatStub
) -> None:
    command = [python, "-I", "-c", LEAVES, str(inspect_models.PROCESS), stub.url]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["127.0.0.1", "127.0.0.1"]
    assert not stub.headers


@pytest.mark.django_db(transaction=True)
def test_a_stored_key_is_bedrocks_bearer_token(
    site: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ModelServer(name="Bedrock", kind="inspect", address="bedrock")
    servers.save(made, make_user("boss", is_superuser=True), key=KEY)
    with BedrockStub() as stub:
        monkeypatch.setenv("BEDROCK_BASE_URL", stub.url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        with opened("bedrock/anthropic.claude-stub") as generator:
            assert ask(generator).text == "Yes."
            stub.fault = "401"
            with pytest.raises(ScoringError, match="the one on the page Model servers"):
                ask(generator)
        assert all(f"Bearer {KEY}" in sent.values() for sent in stub.headers)


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
