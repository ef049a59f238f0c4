"""A server that names its limits: new requests pause, and none fails, however few it takes at a time."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks.completions.stub import Handler
from scoring.backends.http.errors import GaveUpError
from scoring.backends.http.limits import Limits
from scoring.backends.opening import open_generator
from scoring.domain.generating import Generated, Message
from tests.scoring.backends.chat.stub import ChatHandler, ChatStub

WINDOW_S = 1.0


class LimitedStub(ChatStub):
    """Takes `most` requests in each second, and says so in headers of the form that `told` names."""

    told = "retry-after-ms"
    most = 10
    began = 0.0
    n_taken = n_put_off = 0

    def handler(self) -> type[Handler]:
        return LimitedHandler


class LimitedHandler(ChatHandler):
    def send_json(self, value: Any, status: int = 200, **headers: str) -> None:
        stub = self.chat
        assert isinstance(stub, LimitedStub)
        with stub.lock:
            now = time.monotonic()
            if now - stub.began > WINDOW_S:
                stub.began, stub.n_taken = now, 0
            stub.n_taken += 1
            left, left_s = stub.most - stub.n_taken, stub.began + WINDOW_S - now
            stub.n_put_off += left < 0
        if stub.told == "x-ratelimit":
            headers |= {"x_ratelimit_remaining_requests": str(max(left, 0))}
            headers |= {"x_ratelimit_reset_requests": f"{left_s * 1000:.0f}ms"}
        if left < 0:
            if stub.told == "retry-after-ms":
                headers |= {"retry_after_ms": f"{left_s * 1000:.0f}"}
            value, status = {"error": {"message": "Too many requests"}}, 429
        body = json.dumps(value).encode()
        self.send_bytes(body, status, "application/json", **headers)


@pytest.mark.parametrize("told", ["retry-after-ms", "x-ratelimit"])
def test_requests_pause_and_none_fails(told: str) -> None:
    with LimitedStub() as stub:
        stub.told = told
        args = stub.args(concurrency="20", timeout="20", retry_seconds="60")
        generator = open_generator("chat", args)

        def ask(n: int) -> Generated:
            return generator.generate([Message("user", str(n))])

        try:
            with ThreadPoolExecutor(20) as threads:
                answers = list(threads.map(ask, range(30)))
        finally:
            generator.close()
        assert {answer.text for answer in answers} == {"Yes."}
        # Were they only repeated, each of those that are put off would be asked again and again
        assert stub.n_put_off < 40


def test_a_pause_that_is_too_long_ends_the_run_at_once_for_all(stub: ChatStub) -> None:
    stub.script = ["429 for an hour"]
    generator = open_generator("chat", stub.args(retry_seconds="30", timeout="20"))
    try:
        for _ in range(2):
            with pytest.raises(GaveUpError, match=r"requests a pause of .* s, longer than"):
                generator.generate([Message("user", "Is it so?")])
    finally:
        generator.close()
    assert len(stub.requests) == 1


def test_a_limit_that_an_answer_names_is_believed_for_a_minute() -> None:
    limits = Limits()
    limits.read({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "86400"})
    assert 59 < limits.left_s <= 60
