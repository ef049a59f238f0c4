"""Servers that hang or stumble, and where texts and the key may go."""

import json
import re
import socket
import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pytest

from benchmarks.completions.stub import CompletionsStub
from scoring.backends import chat_answers
from scoring.backends.completions.answers import AnswerError, only_choice
from scoring.backends.http import errors
from scoring.backends.http.address import Listed, check_allowed, check_peer, key_of, parse_address
from scoring.backends.http.client import Client
from scoring.backends.http.errors import RawReply
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
    """A key of SCORING_API_KEYS goes to its own server and nowhere else."""

    KEY = "sk-very-secret-0123456789"

    def test_is_sent_with_every_request_and_kept_nowhere_else(self, stub, folder, settings, caplog):
        settings.SCORING_API_KEYS = {stub.url.removeprefix("http://"): self.KEY}
        caplog.set_level("DEBUG")
        backend = opened(stub, folder)
        backend.prepare([])
        assert {h["Authorization"] for h in stub.headers} == {f"Bearer {self.KEY}"}
        assert self.KEY not in repr(backend.identity()) + caplog.text + repr(stub.requests)
        sentence = refusal(stub, folder, "401")
        assert self.KEY not in caplog.text
        assert (
            "it does not accept the one in SCORING_API_KEYS (401: Unauthorized: Bearer …)"
            in sentence
        )

    @pytest.mark.parametrize("spelled", [KEY, "".join(f"\\u{ord(c):04x}" for c in KEY)])
    @pytest.mark.parametrize("status", [200, 400, 401, 500])
    def test_is_in_nothing_that_a_server_sends_back(self, status, spelled, stub, settings):
        settings.SCORING_API_KEYS = {stub.url.removeprefix("http://"): self.KEY}
        client = Client(parse_address(stub.url))
        told = f'{{"data": [{{"id": "a {spelled}", "{spelled}": 1}}], "error": {{"message": "{spelled}"}}}}'
        for body in (told, told.replace("error", "text")):
            raw = RawReply(status, {"server": f"a {self.KEY}"}, body.encode())
            try:
                seen = repr(client._read(raw, 10_000, json.loads, lambda value: None))
                assert "'a …'" in seen
            except (errors.RefusedError, errors.RetryableError, ScoringError) as error:
                seen = f"{error} {vars(error)}"
            assert self.KEY not in seen

    def test_that_may_be_a_word_is_no_secret(self, stub, settings):
        """As servers of one's own are given: it would be missing in what a model writes."""
        settings.SCORING_API_KEYS = {stub.url.removeprefix("http://"): "token"}
        client = Client(parse_address(stub.url))
        raw = RawReply(200, {}, b'{"tokens": ["a token"]}')
        found = client._read(raw, 100, json.loads, lambda value: None).value
        assert found == {"tokens": ["a token"]}

    def test_is_never_sent_to_another_server(self, stub, folder, settings):
        """Neither of two providers learns the other's key, nor does another port of the same machine."""
        port = parse_address(stub.url).port
        settings.SCORING_API_KEYS = {
            "api.example.org": self.KEY,
            "localhost": self.KEY,
            f"127.0.0.1:{port + 1}": self.KEY,
        }
        opened(stub, folder).prepare([])
        assert not [h for h in stub.headers if "Authorization" in h]
        assert self.KEY not in repr([dict(h) for h in stub.headers])

    def test_a_key_without_a_port_is_for_the_port_of_https_alone(self, settings):
        """Not for a port that somebody else may have opened there, or that a researcher names."""
        settings.SCORING_API_KEYS = {"a.org": "host", "a.org:8000": "port", "[::1]:8000": "six"}
        keys = [
            key_of(parse_address(url))
            for url in (
                "https://A.org",
                "https://a.org:8000",
                "https://a.org:8080",
                "https://b.a.org",
                "http://[0::1]:8000",
            )
        ]
        assert keys == ["host", "port", "", "", "six"]

    def test_a_listed_key_is_for_the_place_that_the_list_names(self):
        listed = Listed("a.org:443", self.KEY)
        there, beside = (
            replace(parse_address(url), listed=listed)
            for url in ("https://a.org", "https://a.org:8000")
        )
        assert (key_of(there), key_of(beside)) == (self.KEY, "")

    def test_is_never_sent_where_others_can_read_it(self, settings):
        settings.SCORING_API_KEYS = {"gpu.example.org:8000": self.KEY, "10.0.0.7:8000": self.KEY}
        for place in settings.SCORING_API_KEYS:
            with pytest.raises(ScoringError, match=r"unencrypted\. Write https://") as raised:
                Client(parse_address(f"http://{place}"))
            assert self.KEY not in str(raised.value)
            Client(parse_address(f"https://{place}"))

    def test_is_not_sent_through_a_proxy(self, stub, folder, settings, monkeypatch):
        settings.SCORING_API_KEYS = {stub.url.removeprefix("http://"): self.KEY}
        with CompletionsStub(stub.lm, stub.tokenizer) as proxy:
            for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, proxy.url)
            opened(stub, folder).prepare([])
            assert not proxy.headers
        assert stub.headers


class TestAddresses:
    """The addresses that can be read, and the hosts that may be spoken to."""

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
    def test_an_invalid_address_is_refused(self, base_url):
        with pytest.raises(ScoringError, match="is not an address: expected http://HOST:PORT"):
            parse_address(base_url)

    def test_a_password_is_refused_and_not_repeated(self):
        with pytest.raises(ScoringError, match="set SCORING_API_KEYS") as raised:
            parse_address("http://user:hunter2@localhost:8000")
        assert "hunter2" not in str(raised.value)

    @pytest.mark.parametrize("host", ["gpu.example.org:8000", "127.0.0.1.example.org"])
    def test_other_hosts_are_refused_with_the_setting_to_change(self, stub, folder, settings, host):
        settings.SCORING_HOSTS = ["localhost", "[::1]"]
        sentence = refusal(stub, folder, base_url=f"http://{host}")
        assert "Texts may not be sent to" in sentence
        assert f"Add {host.partition(':')[0]}" in sentence
        assert "SCORING_HOSTS (now localhost, [::1])" in sentence

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

    @pytest.mark.parametrize("port", [22, 443, 5432, 6379, 8001, 9200])
    def test_a_host_alone_is_the_ports_where_models_are_served_usually(self, port):
        """So that nobody asks the database, the queue or the administrator's page of this machine."""
        here = ["localhost", "127.0.0.1", "[::1]"]
        with pytest.raises(
            ScoringError, match=rf"port {port} of 127\.0\.0\.1\. Add 127\.0\.0\.1:{port} "
        ):
            check_allowed(parse_address(f"http://127.0.0.1:{port}"), here)
        for usual in (80, 8000, 8080, 11434, 30000):
            check_allowed(parse_address(f"http://[::1]:{usual}"), here)
        check_allowed(parse_address("https://api.example.org"), ["api.example.org"])
        check_allowed(parse_address(f"http://127.0.0.1:{port}"), ["127.0.0.1:*"])

    @pytest.mark.parametrize(
        ("peer", "allowed", "is_let"),
        [
            ("127.0.0.1", ["gpu.lab"], False),
            ("127.0.1.1", ["gpu.lab", "127.0.0.1"], False),
            ("::1", ["gpu.lab:*"], False),
            ("::ffff:127.0.0.1", ["gpu.lab"], False),
            ("169.254.169.254", ["gpu.lab", "127.0.0.1"], False),
            ("fe80::1%eth0", ["gpu.lab"], False),
            ("0.0.0.0", ["gpu.lab"], False),
            ("127.0.0.1", ["gpu.lab", "127.0.0.1"], True),
            ("127.0.0.1", ["gpu.lab", "127.0.0.1:8001"], False),
            ("10.1.2.3", ["gpu.lab"], True),
            ("203.0.113.7", ["gpu.lab"], True),
        ],
    )
    def test_a_name_that_leads_inside_is_not_followed(self, peer, allowed, is_let):
        address = parse_address("http://gpu.lab:8000")
        with nullcontext() if is_let else pytest.raises(ScoringError, match="leads to"):
            check_peer(address, peer, allowed)

    def test_where_a_name_leads_is_looked_at_before_anything_is_sent(
        self, stub, folder, settings, monkeypatch
    ):
        asked = socket.getaddrinfo

        def lookup(host, *more, **named):
            name = host.decode() if isinstance(host, bytes) else host
            return asked("127.0.0.1" if name == "gpu.lab" else name, *more, **named)

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        port = parse_address(stub.url).port
        settings.SCORING_HOSTS = [f"gpu.lab:{port}"]
        sentence = refusal(stub, folder, base_url=f"http://gpu.lab:{port}")
        assert sentence.startswith("gpu.lab leads to 127.0.0.1, an address of this machine")
        assert not stub.headers
        settings.SCORING_HOSTS = [f"gpu.lab:{port}", f"127.0.0.1:{port}"]
        opened(stub, folder, base_url=f"http://gpu.lab:{port}").prepare([])
        assert stub.headers


SECRETS = [
    (b"root:x:0:0:root:/root:/bin/bash", "text/plain"),
    (b"<title>Grafana: s3cret-board</title>", "text/html"),
    (b"-ERR unknown command 's3cret'", ""),
    (b'{"cluster_name": "s3cret", "tagline": "You know, for search"}', "application/json"),
    (b'["s3cret"]', "application/json"),
    (b'{"error": {"root_cause": "s3cret"}}', "application/json"),
    (b'{"broken": "s3cret', "application/json"),
    (b'{"message": "s3cret"}', "application/json"),
    (b'{"detail": "s3cret"}', "application/json"),
    (b'{"error": "s3cret"}', "application/json"),
    (
        b'{"object": "s3cret", "message": "s3cret", "error": {"reason": "s3cret"}}',
        "application/json",
    ),
]


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 500])
@pytest.mark.parametrize(("body", "kind"), SECRETS)
def test_the_answer_of_another_service_is_not_repeated(body, kind, status):
    headers = {"content-type": kind, "location": "http://in:pw@10.0.0.1/s3cret?token=s3cret"}
    reply = RawReply(status, headers, body)
    said = str(
        errors.of_status(reply, "http://127.0.0.1", has_key=False)
        if status != 200
        else errors.of_content(reply, "http://127.0.0.1")
    )
    if status == 200 and kind == "application/json" and b"broken" not in body:
        for read in (partial(chat_answers.read_answer, seconds=0, request={}), only_choice):
            with pytest.raises((chat_answers.ChatAnswerError, AnswerError)) as raised:
                read(json.loads(body))
            said += str(raised.value)
    for secret in ("s3cret", "root:x", "pw@", "ERR", "search"):
        assert secret not in said
    assert len(said) < 400


def test_names_of_what_is_no_model_are_not_repeated(stub, folder, monkeypatch):
    monkeypatch.setattr(stub, "model_object", "index")
    assert "tiny" not in refusal(stub, folder, "garbage", model="other")
    stub.model_object = "model"
    assert "It has tiny." in refusal(stub, folder, model="other")
