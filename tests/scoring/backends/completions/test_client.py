"""Servers that hang, fail, lie or send too much: each request ends in time and in one sentence."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.completions.stub import MODEL, CompletionsStub
from scoring.backends.completions.backend import CompletionsBackend
from scoring.backends.http.address import check_allowed, parse_address
from scoring.domain.backend import ScoringError

BUDGET_S = 1.0


def open_backend(url: str, folder: Path, **args: str) -> CompletionsBackend:
    quick = {"timeout": "5", "retry_seconds": str(BUDGET_S)}
    known = {"base_url": url, "model": MODEL, "tokenizer": str(folder)}
    return CompletionsBackend(known | quick | args)


def refusal(url: str, folder: Path, **args: str) -> str:
    """The one sentence that connecting and probing ends in, within the budget."""
    began = time.monotonic()
    with pytest.raises(ScoringError) as raised:
        open_backend(url, folder, **args).prepare([])
    assert time.monotonic() - began < BUDGET_S + 20  # a busy machine
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    return sentence


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("drops", "closed the connection without an answer in HTTP (asked"),
        ("500", "answered 500 (engine [31mdied) (asked"),
        ("429 for an hour", "answered 429 (slow down) and asks for a pause of 3600 s, more than is left"),
        ("garbage", "is not JSON (content type application/json, beginning “{\"choices\": [{\"logp[31m”)"),
        ("huge", "sent more than the 1,089,536 bytes that an answer could need"),
        ("redirects", "sends on to “http://192.0.2.1/v1/completions”: that is not followed"),
        ("401", "asks for a key, and SCORING_API_KEY is not set (401: Unauthorized:)"),
    ],
)  # fmt: skip
def test_a_broken_server_ends_in_one_sentence_within_the_budget(
    stub: CompletionsStub, folder: Path, fault: str, words: str
) -> None:
    stub.fault = fault
    assert words in refusal(stub.url, folder)


@pytest.mark.parametrize("fault", ["hangs", "drips headers"])
def test_a_server_that_hangs_or_drips_ends_in_one_sentence_within_the_budget(
    stub: CompletionsStub, folder: Path, fault: str
) -> None:
    stub.fault = fault
    sentence = refusal(stub.url, folder, timeout="0.3")
    assert re.search(r"did not answer within 0\.\d+ s \(asked (once|[23] times) in", sentence)


@pytest.mark.parametrize("fault", ["hangs", "500"])
def test_a_server_that_stumbles_once_is_asked_again(
    stub: CompletionsStub, folder: Path, fault: str
) -> None:
    backend = open_backend(stub.url, folder, timeout="0.5", retry_seconds="9")
    stub.fault, stub.fault_times = fault, 1
    backend.prepare([])
    assert stub.prompts[0] == stub.prompts[1]


def test_a_pause_that_the_server_asks_for_is_kept(stub: CompletionsStub, folder: Path) -> None:
    backend = open_backend(stub.url, folder, retry_seconds="5")
    stub.fault, stub.fault_times = "429", 1
    began = time.monotonic()
    backend.prepare([])
    assert time.monotonic() - began >= 1.0


class TestARefusalThatStays:
    """A server that cannot score is not asked for as long as one that stumbles."""

    def test_is_told_from_a_stumble_by_a_plain_completion(
        self, stub: CompletionsStub, folder: Path
    ) -> None:
        backend = open_backend(stub.url, folder, retry_seconds="600")
        stub.fault = "500 for scoring"
        with pytest.raises(ScoringError) as raised:
            backend.prepare([])
        assert str(raised.value) == (
            f"The server at {stub.url} refused to score: 500: Only no echo is supported (request 2) "
            "(each time, though it answers plain completions)."
        )
        # With token ids, and with a string in their place
        echoes = [request.get("echo", False) for request in stub.requests]
        assert echoes == [True, True, False] * 2


def test_a_redirect_is_never_followed(stub: CompletionsStub, folder: Path) -> None:
    asked = threading.Event()
    with CompletionsStub(stub.lm, stub.tokenizer) as elsewhere:
        elsewhere.lm = lambda ids: asked.set() or stub.lm(ids)
        stub.fault = "redirects"
        stub.redirect_to = f"{elsewhere.url}/v1/completions"
        assert elsewhere.url in refusal(stub.url, folder)
    assert not asked.is_set()


def test_proxies_of_the_environment_are_not_asked(
    stub: CompletionsStub, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://192.0.2.1:3128")
    open_backend(stub.url, folder, retry_seconds="60").prepare([])
    assert stub.prompts


class TestTheKey:
    """SCORING_API_KEY goes to the server and nowhere else."""

    KEY = "sk-very-secret-0123456789"

    def test_is_sent_with_every_request_and_kept_nowhere_else(
        self,
        stub: CompletionsStub,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("SCORING_API_KEY", self.KEY)
        caplog.set_level("DEBUG")
        backend = open_backend(stub.url, folder, retry_seconds="60")
        backend.prepare([])
        assert {h["Authorization"] for h in stub.headers} == {f"Bearer {self.KEY}"}
        assert self.KEY not in repr(backend.identity()) + caplog.text + repr(stub.requests)

    def test_is_taken_out_of_what_a_server_says(
        self,
        stub: CompletionsStub,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("SCORING_API_KEY", self.KEY)
        caplog.set_level("DEBUG")
        stub.fault = "401"
        sentence = refusal(stub.url, folder)
        assert self.KEY not in caplog.text
        assert "that of SCORING_API_KEY is not accepted (401: Unauthorized: Bearer …)" in sentence


class TestAddresses:
    """Which addresses can be read, and which hosts may be spoken to."""

    @pytest.mark.parametrize(
        "base_url",
        [
            "",
            "localhost:8000",
            "ftp://localhost/",
            "http://localhost:99999",
            "http://localhost\\.example.org",
            "http://localhost/\r\nHost: example.org",
            "http://localhost/?a=1",
            "http://[::1",
        ],
    )
    def test_what_is_no_address_is_refused(self, base_url: str) -> None:
        with pytest.raises(ScoringError, match="is not an address: expected http://HOST:PORT"):
            parse_address(base_url)

    def test_a_password_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(ScoringError, match="set SCORING_API_KEY") as raised:
            parse_address("http://user:hunter2@localhost:8000")
        assert "hunter2" not in str(raised.value)

    @pytest.mark.parametrize(
        "base_url", ["http://gpu.example.org:8000", "http://127.0.0.1.example.org"]
    )
    def test_other_hosts_are_refused_with_the_setting_to_change(
        self, folder: Path, base_url: str
    ) -> None:
        sentence = refusal(base_url, folder)
        assert "is not among the hosts that texts may be sent to" in sentence
        assert "SCORING_HOSTS (now localhost, 127.0.0.1, [::1])" in sentence

    def test_a_host_of_the_setting_is_spoken_to(
        self, stub: CompletionsStub, folder: Path, settings: Any
    ) -> None:
        settings.SCORING_HOSTS = ["gpu.example.org"]
        with pytest.raises(ScoringError, match=r"127\.0\.0\.1 is not among"):
            open_backend(stub.url, folder)
        settings.SCORING_HOSTS = [stub.url.removeprefix("http://")]
        open_backend(stub.url, folder)

    def test_a_port_in_the_setting_is_the_only_one(self) -> None:
        address = parse_address("http://[::1]:8000")
        check_allowed(address, ["[::1]:8000"])
        with pytest.raises(ScoringError):
            check_allowed(address, ["[::1]:9000"])

    def test_a_key_with_a_line_break_is_not_sent(
        self, stub: CompletionsStub, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SCORING_API_KEY", "secret\r\nX-Other: 1")
        assert refusal(stub.url, folder) == "SCORING_API_KEY holds characters that no key has."
