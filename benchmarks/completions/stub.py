"""A completions server on a free port, over real HTTP, in front of a real language model; with faults on demand.

It answers as vLLM does.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from benchmarks.completions import llama_cpp_form
from benchmarks.completions.models import NUMBER_FAULTS, Lm, echoed

MODEL = "tiny"
# What goes over the wire instead of an answer
PAGE = b"<!doctype html><html><body><h1>502 Bad Gateway</h1></body></html>"


# What becomes of a right answer of llama.cpp's kind; the numbers are those of the prompt's tokens but the first
LLAMA_CPP_FAULTS: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], object]] = {
    "says no usage": lambda _, value: value.pop("usage", None),
    "forces nothing": lambda request, value: _spell(value, "?") if "stream" in request else None,
    "numbers late": lambda request, value: None if "stream" in request else _put_late(value),
    "generated numbers of another scale": lambda request, value: (
        _logprobs(value)["token_logprobs"].__setitem__(0, -1.0) if "stream" in request else None
    ),
    "other tokens": lambda request, value: None if "stream" in request else _spell(value, "x"),
}


def _logprobs(value: dict[str, Any]) -> dict[str, Any]:
    logprobs: dict[str, Any] = value["choices"][0]["logprobs"]
    return logprobs


def _spell(value: dict[str, Any], token: str) -> None:
    _logprobs(value)["tokens"] = [token] * len(_logprobs(value)["tokens"])


def _put_late(value: dict[str, Any]) -> None:
    numbers = _logprobs(value)["token_logprobs"]
    numbers[2:] = numbers[1:-1]


class CompletionsStub:
    """The server. Its attributes may be changed while it runs.

    `fault` (one of NUMBER_FAULTS, or a method of Handler with `fault_` before its name) holds for prompts of
    `fault_lengths` tokens, and `fault_times` times.
    """

    def __init__(self, lm: Lm, tokenizer: Any, max_model_len: int | None = 512) -> None:
        self.lm, self.tokenizer, self.max_model_len = lm, tokenizer, max_model_len
        self.fault, self.fault_times = "", 10**9
        self.fault_lengths: Callable[[int], bool] = lambda n: True
        self.form = "vLLM"  # or "llama.cpp", with the start token that it puts before a text
        self.start: int | None = None
        self.redirect_to = "http://192.0.2.1/v1/completions"
        self.names_itself = True  # of its model and version
        self.model_object = "model"  # what it says that its models are
        self.delay_s = 0.0
        self.names_ids = True  # as vLLM and SGLang do when asked; others know no such thing
        self.prompts: list[list[int]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.most_at_once = self.at_once = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.http = _Server(("127.0.0.1", 0), self.handler())
        self.http.stub = self
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))

    def handler(self) -> type["Handler"]:
        return Handler

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def current_fault(self, length: int) -> str:
        with self.lock:
            if not self.fault or self.fault_times <= 0 or not self.fault_lengths(length):
                return ""
            self.fault_times -= 1
            return self.fault


class _Server(ThreadingHTTPServer):
    stub: CompletionsStub
    request_queue_size = 128  # a full queue would be one more fault, at no one's wish

    def handle_error(self, *_: Any) -> None:
        pass  # clients that went away are part of the tests


class Handler(BaseHTTPRequestHandler):
    server: _Server

    @property
    def stub(self) -> CompletionsStub:
        return self.server.stub

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        if not self.stub.names_itself:
            self.send_error(501)  # as a server does that knows no GET at all
        elif self.path == "/v1/models":
            card: dict[str, Any] = {
                "id": MODEL,
                "object": self.stub.model_object,
                "root": "lab/tiny-model",
            }
            card["max_model_len"] = self.stub.max_model_len
            self.send_json({"object": "list", "data": [card]})
        elif self.path == "/version":
            self.send_json({"version": "0.99.1"})
        else:
            self.send_json({"detail": "Not Found"}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        stub, request = self.stub, json.loads(body)
        with stub.lock:
            stub.at_once += 1
            stub.most_at_once = max(stub.most_at_once, stub.at_once)
            stub.requests.append(request)
            stub.prompts.append(request["prompt"])
            stub.headers.append(dict(self.headers))
        try:
            time.sleep(stub.delay_s)
        finally:
            with stub.lock:  # before the answer: who has it may ask again at once
                stub.at_once -= 1
        self.answer(request, stub.current_fault(len(request["prompt"])))

    def answer(self, request: dict[str, Any], fault: str) -> None:
        if self.stub.form == "llama.cpp":
            self.answer_as_llama_cpp(request, fault)
            return
        whole = getattr(self, "fault_" + fault.replace(" ", "_"), None)
        if whole:
            whole(request)
        elif self.path != "/v1/completions" or request["model"] != MODEL:
            self.send_json({"error": {"message": "The model does not exist."}}, 404)
        elif self.stub.max_model_len and len(request["prompt"]) + 1 > self.stub.max_model_len:
            self.fault_too_long(request)
        else:
            self.send_json(self.completion(request, request["prompt"], fault))

    def answer_as_llama_cpp(self, request: dict[str, Any], fault: str) -> None:
        stub = self.stub
        status, value = llama_cpp_form.answer(stub.lm, stub.tokenizer, stub.start, request)
        if fault and status == 200:
            LLAMA_CPP_FAULTS[fault](request, value)
        if request.get("stream"):
            event = f"data: {json.dumps(value)}\r\n\r\ndata: [DONE]\r\n\r\n"
            self.send_bytes(event.encode(), status, "text/event-stream")
        else:
            self.send_json(value, status)

    def completion(self, request: dict[str, Any], ids: list[int], fault: str) -> dict[str, Any]:
        numbers, generated = echoed(self.stub.lm, ids)
        if fault:
            numbers = NUMBER_FAULTS[fault](self.stub.lm, ids, numbers)
        by_id = self.stub.names_ids and request.get("return_tokens_as_token_ids")
        all_ids = [*ids, generated][-len(numbers) :]
        spelt = [f"token_id:{i}" if by_id else self.stub.tokenizer.decode([i]) for i in all_ids]
        logprobs = {"token_logprobs": numbers, "tokens": spelt, "text_offset": []}
        choice: dict[str, Any] = {"index": 0, "text": "", "logprobs": logprobs}
        if self.stub.names_ids and request.get("return_token_ids"):
            choice |= {"prompt_token_ids": ids, "token_ids": [generated]}
        return {"object": "text_completion", "choices": [choice]}

    def send_json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.send_bytes(json.dumps(value).encode(), status, "application/json", **headers)

    def send_bytes(self, body: bytes, status: int, kind: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def fault_hangs(self, _: Any) -> None:
        self.stub.closing.wait(30)

    def fault_drips(self, _: Any) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        while not self.stub.closing.wait(0.05):
            self.wfile.write(b" ")

    def fault_drips_headers(self, _: Any) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Filler: ")
        while not self.stub.closing.wait(0.05):
            self.wfile.write(b"x")

    def fault_drops(self, _: Any) -> None:
        pass  # the connection ends without a word

    def fault_breaks_off(self, request: Any) -> None:
        body = json.dumps(self.completion(request, request["prompt"], "")).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2])

    def fault_speaks_no_http(self, _: Any) -> None:
        self.wfile.write(b"220 mail.example.org ESMTP\r\n")

    def fault_garbage(self, _: Any) -> None:
        self.send_bytes(b'{"choices": [{"logp\x00\x1b[31m', 200, "application/json")

    def fault_other_json(self, _: Any) -> None:
        self.send_json({"object": "error", "message": "no\x07 such engine", "code": 1})

    def fault_deep(self, _: Any) -> None:
        self.send_bytes(b"[" * 200_000, 200, "application/json")

    def fault_huge(self, _: Any) -> None:
        self.send_bytes(b" " * 5_000_000, 200, "application/json")

    def fault_html(self, _: Any) -> None:
        self.send_bytes(PAGE, 200, "text/html")

    def fault_no_logprobs(self, _: Any) -> None:
        self.send_json({"choices": [{"index": 0, "text": "Hello", "logprobs": None}]})

    def fault_llama_server(self, _: Any) -> None:
        content = [{"id": 230, "token": "x", "bytes": [120], "logprob": -2.1, "top_logprobs": []}]
        self.send_json({"choices": [{"index": 0, "text": "x", "logprobs": {"content": content}}]})

    def fault_adds_a_token(self, request: Any) -> None:
        self.send_json(self.completion(request, [0, *request["prompt"]], ""))

    def fault_cuts_long_prompts(self, request: Any) -> None:
        self.send_json(self.completion(request, request["prompt"][-8:], ""))

    def fault_scores_other_ids(self, request: Any) -> None:
        self.send_json(self.completion(request, request["prompt"][::-1], ""))

    def fault_429(self, _: Any) -> None:
        self.send_json({"error": {"message": "slow down"}}, 429, Retry_After="1")

    def fault_429_for_an_hour(self, _: Any) -> None:
        self.send_json({"error": {"message": "slow down"}}, 429, Retry_After="3600")

    def fault_500(self, _: Any) -> None:
        self.send_json({"error": {"message": "engine\n\x1b[31mdied"}}, 500)

    def fault_500_for_scoring(self, request: Any) -> None:
        if request.get("echo"):
            message = f"Only no echo is supported (request {len(self.stub.requests)})"
            self.send_json({"error": {"message": message}}, 500)
        else:
            self.send_json({"choices": [{"index": 0, "text": " end"}]})

    def fault_500_of_many_reasons(self, request: Any) -> None:
        if request.get("echo"):
            message = ("engine starts", "cache is full", "worker is busy")[
                len(self.stub.requests) % 3
            ]
            self.send_json({"error": {"message": message}}, 500)
        else:
            self.send_json({"choices": [{"index": 0, "text": " end"}]})

    def fault_501(self, _: Any) -> None:
        self.send_json({"error": {"message": "logprobs are not implemented"}}, 501)

    def fault_503_until_a_moment(self, _: Any) -> None:
        sent = datetime(2030, 1, 1, tzinfo=UTC)  # by a clock that is years ahead
        until = format_datetime(sent + timedelta(seconds=2), usegmt=True)
        self.send_response_only(503)
        self.send_header("Date", format_datetime(sent, usegmt=True))
        self.send_header("Retry-After", until)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def fault_502_page(self, _: Any) -> None:
        self.send_bytes(PAGE, 502, "text/html")

    def fault_401(self, _: Any) -> None:
        given = self.headers.get("Authorization", "")
        self.send_json({"error": {"message": f"Unauthorized: {given}"}}, 401, X_Given=given)

    def fault_400(self, _: Any) -> None:
        self.send_json({"error": {"message": "Token id 401 is out of vocabulary"}}, 400)

    def fault_wants_no_extras(self, request: Any) -> None:
        extras = [name for name in request if name.startswith("return_")]
        if extras:
            detail = {"loc": ["body", extras[0]], "msg": "Extra inputs are not permitted"}
            self.send_json({"detail": [detail]}, 422)
        else:
            self.send_json(self.completion(request, request["prompt"], ""))

    def fault_too_long(self, request: Any) -> None:
        n = len(request["prompt"])
        message = (
            f"This model's maximum context length is 512 tokens. However, you requested {n + 1}."
        )
        self.send_json({"object": "error", "message": message, "code": 400}, 400)

    def fault_redirects(self, _: Any) -> None:
        self.send_json({}, 307, Location=self.stub.redirect_to)
