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


class ProviderHandler(Handler):
    """A provider's interface; a subclass has its path, answer and errors. Faults: 429, 400, 401, window, redirects."""

    path_of = ""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.stub
        with stub.lock:
            stub.requests.append(request)
            stub.headers.append(dict(self.headers))
            fault = stub.script.pop(0) if stub.script else stub.fault
        if self.path.partition("?")[0] != self.path_of:
            self.send_error_of(404, self.path)
        elif fault == "redirects":
            self.send_json({}, 307, Location=stub.redirect_to)
        elif fault:
            status, message = FAULTS[fault]
            self.send_error_of(status, message)
        else:
            self.send_json(self.answer())

    @property
    def stub(self) -> ChatStub:
        assert isinstance(self.server.stub, ChatStub)
        return self.server.stub

    def answer(self) -> dict[str, Any]:
        raise NotImplementedError

    def send_error_of(self, status: int, message: str) -> None:
        raise NotImplementedError


FAULTS = {
    "429": (429, "slow down"),
    "400": (400, "this cannot be meant"),
    "401": (401, "wrong key"),
    "window": (400, ""),
}


class GoogleStub(ChatStub):
    def handler(self) -> type[Handler]:
        return GoogleHandler


class GoogleHandler(ProviderHandler):
    path_of = "/v1/models/gemini-2.5-flash:generateContent"

    def answer(self) -> dict[str, Any]:
        likeliest = [{"token": "Yes", "logProbability": -0.2}, {"token": "No", "logProbability": -1.8}]  # fmt: skip
        logprobs = {
            "topCandidates": [{"candidates": likeliest}],
            "chosenCandidates": likeliest[:1],
        }
        candidate = {
            "content": {"role": "model", "parts": [{"text": "Is it?", "thought": True}, {"text": "Yes."}]},
            "finishReason": "STOP",
            "logprobsResult": logprobs,
        }  # fmt: skip
        usage = {
            "promptTokenCount": 7,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "totalTokenCount": 12,
        }
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-stub"}

    def send_error_of(self, status: int, message: str) -> None:
        names = {429: "RESOURCE_EXHAUSTED", 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED"}
        message = (
            message or "The input token count (9) exceeds the maximum number of tokens allowed (8)."
        )
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
        details = [retry] if status == 429 else []
        error = {"code": status, "message": message, "status": names.get(status, "NOT_FOUND")}
        self.send_json({"error": error | {"details": details}}, status)


class MistralStub(ChatStub):
    def handler(self) -> type[Handler]:
        return MistralHandler


class MistralHandler(ProviderHandler):
    path_of = "/v1/conversations"

    def answer(self) -> dict[str, Any]:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Is it?"}]}
        message = {
            "object": "entry",
            "type": "message.output",
            "role": "assistant",
            "content": [thought, {"type": "text", "text": "Yes."}],
        }
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        return {
            "object": "conversation.response",
            "conversation_id": "conv_1",
            "outputs": [message],
            "usage": usage,
        }

    def send_error_of(self, status: int, message: str) -> None:
        message = (
            message or "Prompt contains 9 tokens, too large for model with 8 maximum context length"
        )
        pause = {"Retry_After": "1"} if status == 429 else {}
        self.send_json({"object": "error", "message": message, "code": "3000"}, status, **pause)


class AzureStub(ChatStub):
    """OpenAI's models at Azure."""

    def handler(self) -> type[Handler]:
        return AzureHandler


class AzureHandler(ProviderHandler):
    path_of = "/openai/deployments/gpt-4o/chat/completions"

    def answer(self) -> dict[str, Any]:
        token = {"token": "Yes.", "logprob": -0.2}
        tokens = [token | {"top_logprobs": [token, {"token": "No.", "logprob": -1.8}]}]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "Yes."},
            "finish_reason": "stop",
            "logprobs": {"content": tokens},
        }
        usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
        named = {"id": "chat_1", "object": "chat.completion", "created": 0, "model": "gpt-4o"}
        return named | {"choices": [choice], "usage": usage}

    def send_error_of(self, status: int, message: str) -> None:
        code = "" if message else "context_length_exceeded"
        message = message or "This model's maximum context length is 8 tokens."
        pause = {"Retry_After": "1"} if status == 429 else {}
        self.send_json({"error": {"message": message, "code": code}}, status, **pause)


class FoundryStub(ChatStub):
    """Azure AI, with models of several companies."""

    def handler(self) -> type[Handler]:
        return FoundryHandler


class FoundryHandler(AzureHandler):
    path_of = "/chat/completions"


class BedrockStub(ChatStub):
    def handler(self) -> type[Handler]:
        return BedrockHandler


class BedrockHandler(ProviderHandler):
    path_of = "/model/anthropic.claude-stub/converse"

    def answer(self) -> dict[str, Any]:
        thought = {"reasoningContent": {"reasoningText": {"text": "Is it?"}}}
        return {
            "output": {"message": {"role": "assistant", "content": [thought, {"text": "Yes."}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12},
            "metrics": {"latencyMs": 1},
        }

    def send_error_of(self, status: int, message: str) -> None:
        names = {429: "ThrottlingException", 400: "ValidationException", 401: "UnrecognizedClientException"}  # fmt: skip
        message = message or "Too many input tokens: 9, the most is 8"
        name = names.get(status, "ResourceNotFoundException")
        self.send_json({"message": message}, status, x_amzn_ErrorType=name)
