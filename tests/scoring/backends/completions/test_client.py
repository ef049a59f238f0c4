"""Servers that hang or stumble, and where texts and the key may go."""

import re
import threading
import time

import pytest

from benchmarks.completions.stub import CompletionsStub
from scoring.backends.http.address import check_allowed, parse_address
from scoring.domain.backend import ScoringError
from tests.scoring.backends.completions.conftest import opened, refusal


@pytest.mark.parametrize("fault", ["hangs", "drips headers"])
def test_a_server_that_hangs_or_drips_ends_in_one_sentence_within_the_budget(stub, folder, fault):
    began = time.monotonic()
    sentence = refusal(stub, folder, fault, timeout="0.3", retry_seconds="1")
    assert time.monotonic() - began < 1 + 20  # a busy machine
    assert re.search(r"did not answer within 0\.\d+ s \(asked (once|[23] times) in", sentence)


@pytest.mark.parametrize("fault", ["hangs", "500"])
def test_a_server_that_stumbles_once_is_asked_again(stub, folder, fault):
    backend = opened(stub, folder, timeout="0.5", retry_seconds="9")
    stub.fault, stub.fault_times = fault, 1
    backend.prepare([])
    assert stub.prompts[0] == stub.prompts[1]


def test_a_pause_that_the_server_asks_for_is_kept(stub, folder):
    backend = opened(stub, folder)
    stub.fault, stub.fault_times = "429", 1
    began = time.monotonic()
    backend.prepare([])
    assert time.monotonic() - began >= 1.0


def test_a_refusal_that_stays_is_told_from_a_stumble_by_a_plain_completion(stub, folder):
    assert refusal(stub, folder, "500 for scoring", retry_seconds="600") == (
        f"The server at {stub.url} refused to score: 500: Only no echo is supported (request 2) "
        "(each time, although it answers plain completions)."
    )
    # With token ids, and with a string in their place
    echoes = [request.get("echo", False) for request in stub.requests]
    assert echoes == [True, True, False] * 2


def test_a_redirect_is_never_followed(stub, folder):
    asked = threading.Event()
    with CompletionsStub(stub.lm, stub.tokenizer) as elsewhere:
        elsewhere.lm = lambda ids: asked.set() or stub.lm(ids)
        stub.redirect_to = f"{elsewhere.url}/v1/completions"
        assert elsewhere.url in refusal(stub, folder, "redirects")
    assert not asked.is_set()


def test_proxies_of_the_environment_are_not_asked(stub, folder, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://192.0.2.1:3128")
    opened(stub, folder).prepare([])
    assert stub.prompts


class TestTheKey:
    """SCORING_API_KEY goes to the server and nowhere else."""

    KEY = "sk-very-secret-0123456789"

    def test_is_sent_with_every_request_and_kept_nowhere_else(
        self, stub, folder, monkeypatch, caplog
    ):
        monkeypatch.setenv("SCORING_API_KEY", self.KEY)
        caplog.set_level("DEBUG")
        backend = opened(stub, folder)
        backend.prepare([])
        assert {h["Authorization"] for h in stub.headers} == {f"Bearer {self.KEY}"}
        assert self.KEY not in repr(backend.identity()) + caplog.text + repr(stub.requests)
        sentence = refusal(stub, folder, "401")
        assert self.KEY not in caplog.text
        assert (
            "it does not accept the key in SCORING_API_KEY (401: Unauthorized: Bearer …)"
            in sentence
        )

    def test_is_not_sent_with_a_line_break_in_it(self, stub, folder, monkeypatch):
        monkeypatch.setenv("SCORING_API_KEY", "secret\r\nX-Other: 1")
        assert (
            refusal(stub, folder) == "SCORING_API_KEY contains characters that a key cannot have."
        )


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
    def test_what_is_no_address_is_refused(self, base_url):
        with pytest.raises(ScoringError, match="is not an address: expected http://HOST:PORT"):
            parse_address(base_url)

    def test_a_password_is_refused_and_not_repeated(self):
        with pytest.raises(ScoringError, match="set SCORING_API_KEY") as raised:
            parse_address("http://user:hunter2@localhost:8000")
        assert "hunter2" not in str(raised.value)

    @pytest.mark.parametrize("host", ["gpu.example.org:8000", "127.0.0.1.example.org"])
    def test_other_hosts_are_refused_with_the_setting_to_change(self, stub, folder, host):
        sentence = refusal(stub, folder, base_url=f"http://{host}")
        assert "Texts may not be sent to" in sentence
        assert "SCORING_HOSTS (now localhost, 127.0.0.1, [::1])" in sentence

    def test_a_host_of_the_setting_is_spoken_to(self, stub, folder, settings):
        settings.SCORING_HOSTS = ["gpu.example.org"]
        with pytest.raises(ScoringError, match=r"may not be sent to 127\.0\.0\.1"):
            opened(stub, folder)
        settings.SCORING_HOSTS = [stub.url.removeprefix("http://")]
        opened(stub, folder)

    def test_a_port_in_the_setting_is_the_only_one(self):
        address = parse_address("http://[::1]:8000")
        check_allowed(address, ["[::1]:8000"])
        with pytest.raises(ScoringError):
            check_allowed(address, ["[::1]:9000"])
