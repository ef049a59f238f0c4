"""Servers that answer as Anthropic's interface does, and as OpenAI's newer one, on a free port; with faults on demand."""

import json
from typing import Any

from benchmarks.completions.stub import Handler
from tests.scoring.backends.chat.stub import ChatStub


class AnthropicStub(ChatStub):
    """The server; `script` names what becomes of the first requests."""

    def handler(self) -> type[Handler]:
        return AnthropicHandler


class AnthropicHandler(Handler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.stub
        assert isinstance(stub, AnthropicStub)
        with stub.lock:
            stub.requests.append(request)
            stub.headers.append(dict(self.headers))
            fault = stub.script.pop(0) if stub.script else stub.fault
        if self.path.partition("?")[0] != "/v1/messages":
            self.send_json(_error("not_found_error", self.path), 404)
        elif fault == "busy":
            self.send_json(_error("rate_limit_error", "slow down"), 429, retry_after="1")
        elif fault == "overloaded":
            self.send_json(_error("overloaded_error", "Overloaded"), 529)
        elif fault == "key":
            self.send_json(_error("authentication_error", "invalid x-api-key"), 401)
        elif fault == "window":
            self.send_json(_error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"), 400)  # fmt: skip
        else:
            self.send_message(request, "refusal" if fault == "refuses" else "end_turn")

    def send_message(self, request: dict[str, Any], reason: str) -> None:
        content = [
            {"type": "thinking", "thinking": "Is it?", "signature": "s"},
            {"type": "text", "text": "Yes."},
        ]
        usage = {
            "input_tokens": 7,
            "output_tokens": 5,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 0,
        }
        self.send_json(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": request["model"],
                "content": content,
                "stop_reason": reason,
                "stop_sequence": None,
                "usage": usage,
            }
        )


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


class ResponsesStub(ChatStub):
    """OpenAI's `/v1/responses`."""

    def handler(self) -> type[Handler]:
        return ResponsesHandler


class ResponsesHandler(Handler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.stub.requests.append(request)
        thought = {"type": "summary_text", "text": "Is it?"}
        text = {"type": "output_text", "text": "Yes.", "annotations": []}
        message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
        self.send_json(
            {
                "id": "resp_1",
                "object": "response",
                "created_at": 0,
                "model": request["model"],
                "status": "completed",
                "output": [
                    {"type": "reasoning", "id": "rs_1", "summary": [thought]},
                    message | {"content": [text]},
                ],
                "usage": {
                    "input_tokens": 7,
                    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                    "output_tokens": 5,
                    "output_tokens_details": {"reasoning_tokens": 3},
                    "total_tokens": 12,
                },
                "parallel_tool_calls": False,
                "tool_choice": "auto",
                "tools": [],
            }
        )
