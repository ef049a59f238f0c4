"""A chat server on a free port, over real HTTP, in the form that OpenAI and vLLM answer in; with faults on demand."""

import json
from collections.abc import Callable
from functools import partialmethod
from typing import Any

from benchmarks.completions.stub import CompletionsStub, Handler

MODEL = "writer"


class ChatStub(CompletionsStub):
    """The server. `answer` makes a text of a request; `script` names what becomes of the first requests, in their order.

    A fault is a method of `ChatHandler`, or of `Handler`, with `fault_` before its name; "" is none.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], str] = lambda request: "Yes.") -> None:
        super().__init__(None, None)  # type: ignore[arg-type]  # no prompt is scored
        self.text_of = answer
        self.script: list[str] = []
        self.says_usage = True
        # Texts of tokens in the place of the side's letter, where they are asked for
        self.logprobs: list[tuple[str, float]] = []
        self.is_frozen = False  # or the same at every place

    def handler(self) -> type[Handler]:
        return ChatHandler

    def args(self, **changed: str) -> dict[str, str]:
        """By which it is asked: one question at a time, and each once."""
        known = {"base_url": self.url, "model": MODEL, "timeout": "2", "retry_seconds": "1"}
        return known | {"concurrency": "1", "tries": "1"} | changed

    @property
    def last_words(self) -> list[str]:
        """The last turn of each request."""
        return [request["messages"][-1]["content"] for request in self.requests]


class ChatHandler(Handler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.chat
        with stub.lock:
            stub.at_once += 1
            stub.most_at_once = max(stub.most_at_once, stub.at_once)
            stub.requests.append(request)
            stub.headers.append(dict(self.headers))
            fault = stub.script.pop(0) if stub.script else stub.fault
        stub.closing.wait(stub.delay_s)
        with stub.lock:
            stub.at_once -= 1
        if self.path != "/v1/chat/completions" or request["model"] != MODEL:
            self.send_json({"error": {"message": "The model does not exist."}}, 404)
        elif fault:
            getattr(self, "fault_" + fault.replace(" ", "_"))(request)
        else:
            self.send_text(request, stub.text_of(request))

    @property
    def chat(self) -> ChatStub:
        assert isinstance(self.stub, ChatStub)
        return self.stub

    def send_text(
        self,
        request: dict[str, Any],
        text: Any,
        finish: str = "stop",
        *,
        model: str = f"{MODEL}-2026-01",
        n_thought: int = 0,
        **message: Any,
    ) -> None:
        read = sum(len(m["content"].split()) for m in request["messages"])
        usage: dict[str, Any] = {"prompt_tokens": read}
        usage["completion_tokens"] = len(str(text or "").split()) + n_thought
        if n_thought:
            usage["completion_tokens_details"] = {"reasoning_tokens": n_thought}
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None} | message,
            "finish_reason": finish,
        }
        if self.chat.logprobs and request.get("logprobs"):
            choice["logprobs"] = {"content": self.tokens(str(text))}
        value = {"object": "chat.completion", "model": model, "choices": [choice]}
        self.send_json(value | ({"usage": usage} if self.chat.says_usage else {}))

    def tokens(self, text: str) -> list[dict[str, Any]]:
        """The text's characters as its tokens, each with the likeliest ones in its place."""
        found: list[dict[str, Any]] = []
        for at, token in enumerate(text):
            is_side = token in "AB" and text[at - 1] == '"'
            likely = self.chat.logprobs if is_side or self.chat.is_frozen else [(token, -0.01)]
            own = next((p for t, p in likely if t == token), -1.0)
            tops = [{"token": t, "logprob": p} for t, p in likely]
            found.append({"token": token, "logprob": own, "top_logprobs": tops})
        return found

    def fault_knows_no_logprobs(self, request: dict[str, Any]) -> None:
        if "logprobs" in request:
            self.send_json({"error": {"message": "logprobs are not supported"}}, 400)
        else:
            self.send_text(request, self.chat.text_of(request))

    def fault_forbids_logprobs(self, request: dict[str, Any]) -> None:
        if "logprobs" in request:
            message = "You are not allowed to request logprobs from this model"
            self.send_json({"error": {"message": message}}, 403)
        else:
            self.send_text(request, self.chat.text_of(request))

    def fault_counts_its_thought(self, request: dict[str, Any]) -> None:
        self.send_text(request, self.chat.text_of(request), n_thought=40)

    def fault_is_another_model(self, request: dict[str, Any]) -> None:
        self.send_text(request, self.chat.text_of(request), model=f"{MODEL}-2026-06")

    def fault_refuses(self, request: dict[str, Any]) -> None:
        self.send_text(request, None, refusal="I cannot\nhelp with that.")

    def fault_filtered(self, request: dict[str, Any]) -> None:
        self.send_text(request, "", "content_filter")

    def fault_prompt_filtered(self, _: Any) -> None:
        message = "The response was filtered by the content management policy."
        self.send_json({"error": {"message": message, "code": "content_filter"}}, 400)

    def fault_forbidden(self, _: Any) -> None:
        self.send_json({"error": {"message": "Forbidden"}}, 403)

    def fault_flagged(self, _: Any) -> None:
        """As a router between models answers."""
        said = {"reasons": ["violence"], "flagged_input": "Which gene"}
        message = "The model requires moderation. Your input was flagged."
        self.send_json({"error": {"code": 403, "message": message, "metadata": said}}, 403)

    def fault_against_policy(self, _: Any) -> None:
        error = {"message": "Your request was rejected.", "code": "content_policy_violation"}
        self.send_json({"error": error}, 400)

    def fault_inspected(self, _: Any) -> None:
        message = "Input data may contain inappropriate content."
        self.send_json({"code": "data_inspection_failed", "message": message}, 400)

    def fault_broken(self, request: dict[str, Any]) -> None:
        self.send_text(request, self.chat.text_of(request), "error")

    def fault_truncated(self, request: dict[str, Any]) -> None:
        self.send_text(request, self.chat.text_of(request)[:20], "length")

    def fault_silent(self, request: dict[str, Any]) -> None:
        self.send_text(request, "")

    def fault_thinks_apart(self, request: dict[str, Any]) -> None:
        self.send_text(request, "Yes.", reasoning_content="Is it?")

    def fault_thinks_in_parts(self, request: dict[str, Any]) -> None:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Is it?"}]}
        self.send_text(request, [thought, {"type": "text", "text": "Yes."}])

    def fault_thinks_aloud(self, request: dict[str, Any]) -> None:
        self.send_text(request, "Is it?\n</think>\n\nYes.")

    def fault_thinks_too_long(self, request: dict[str, Any]) -> None:
        self.send_text(request, None, "length", reasoning="Is it")

    def fault_in_parts(self, request: dict[str, Any]) -> None:
        self.send_text(request, [{"type": "text", "text": self.chat.text_of(request)}])

    def fault_wrong_json(self, request: dict[str, Any]) -> None:
        self.send_text(request, '{"words": ["Yes."]}')

    def fault_no_choices(self, _: Any) -> None:
        self.send_json({"object": "error", "message": "no such engine"})

    def fault_other_service(self, _: Any) -> None:
        self.send_json({"cluster_name": "search", "version": {"number": "9"}})

    def fault_error_inside(self, _: Any) -> None:
        """As a gateway passes on what its provider said."""
        self.send_json({"error": {"message": "Provider returned error", "code": 502}})

    def fault_error_inside_a_choice(self, _: Any) -> None:
        error = {"message": "Provider returned error", "code": 502}
        self.send_json({"choices": [{"index": 0, "error": error, "finish_reason": "error"}]})

    def fault_overloaded_inside(self, _: Any) -> None:
        self.send_json({"error": {"message": "Overloaded", "type": "overloaded_error"}})

    def fault_429_inside(self, _: Any) -> None:
        self.send_json({"error": {"message": "slow down", "code": "429"}})

    def fault_no_choice(self, _: Any) -> None:
        self.send_json({"object": "chat.completion", "choices": []})

    def fault_filter_inside(self, _: Any) -> None:
        error = {"message": "The prompt was filtered.", "code": "content_filter"}
        self.send_json({"error": error})

    def fault_window_inside(self, _: Any) -> None:
        error = {"message": "Too many tokens", "type": "invalid_request_error", "code": 400}
        self.send_json({"error": error})

    def fault_window(self, _: Any) -> None:
        message = "This model's maximum context length is 512 tokens."
        error = {"message": message, "code": "context_length_exceeded"}
        self.send_json({"error": error}, 400)

    def fault_wants_other_names(self, request: dict[str, Any]) -> None:
        """As servers do that know no JSON Schema, and those that call the limit otherwise."""
        if "response_format" in request:
            message = "Unknown parameter: 'response_format.json_schema'"
        elif "max_tokens" in request:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        else:
            return self.send_text(request, self.chat.text_of(request))
        return self.send_json({"error": {"message": message}}, 400)

    def refuse(self, request: dict[str, Any], name: str) -> None:
        """As OpenAI does of its reasoning models."""
        if name not in request:
            return self.send_text(request, self.chat.text_of(request))
        message = f"Unsupported value: '{name}' does not support {request[name]} with this model. Only the default is supported."
        error = {"message": message, "param": name, "code": "unsupported_value"}
        return self.send_json({"error": error | {"type": "invalid_request_error"}}, 400)

    fault_refuses_temperature = partialmethod(refuse, name="temperature")
    fault_refuses_top_p = partialmethod(refuse, name="top_p")
    fault_refuses_reasoning_effort = partialmethod(refuse, name="reasoning_effort")

    def fault_no_temperature(self, _: Any) -> None:
        self.send_json({"error": {"message": "temperature does not support 0.3"}}, 400)
