"""Has a model write that is served elsewhere: an OpenAI-style `/v1/chat/completions`.

Requests live in one event loop in a thread of its own; `generate` waits for one of them, and any number of threads may
call it. What a server does not know (a JSON Schema, a name for the most tokens) is left out from then on.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from scoring.backends.chat_answers import ChatAnswerError, check_whole, read_answer
from scoring.backends.http.address import allowed_address
from scoring.backends.http.client import Client
from scoring.backends.http.errors import (
    ForbiddenError,
    GaveUpError,
    RefusedError,
    is_moderated,
    is_too_long,
)
from scoring.backends.options import (
    before_an_answer,
    first_contact,
    read_chat_options,
)
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import (
    Finish,
    Generated,
    Message,
    Usage,
)
from scoring.domain.thinking import Marks

MAX_BYTES = 2**22
REFUSED_PARAMETER = (400, 422, 501)
OF_REQUEST = (400, 413, 422, 451)
FORBIDDEN = 403
MOST_LIKELY = 20  # tokens in one place: as many as most servers give
# What to do about an argument that a model does not accept, and what that changes
WITHOUT: Mapping[str, str] = {
    "temperature": "Set temperature=none, which leaves it to the server. Answers are then drawn by chance, so a model that chooses "
    "is asked five times in each order",
    "top_p": "Leave out top_p",
    "seed": "Leave out seed. Answers that are drawn by chance can then not be repeated",
    "reasoning_effort": "Leave out reasoning_effort, or choose another",
}
START_IT = "It has not answered once in this run. Start it, or correct base_url, and then continue the run."
SCHEMA_WORDS = ("response_format", "json_schema", "guided", "structured output", "grammar")


@dataclass(frozen=True)
class Form:
    """How this server is asked."""

    limit_name: str = "max_tokens"
    takes_schema: bool = True
    gives_tokens: bool = True

    def easier(self, refusal: RefusedError, sent: Mapping[str, Any]) -> "Form | None":
        """How to ask a server that refuses a parameter by its name; None where nothing can be left out."""
        if refusal.status not in (*REFUSED_PARAMETER, FORBIDDEN):
            return None
        words = refusal.words.lower()
        if "max_completion_tokens" in words and "max_tokens" in sent:
            return replace(self, limit_name="max_completion_tokens")
        if "logprobs" in sent and "logprob" in words:
            return replace(self, gives_tokens=False)
        if "response_format" in sent and any(word in words for word in SCHEMA_WORDS):
            return replace(self, takes_schema=False)
        return None


class ChatGenerator:
    """A model behind `/v1/chat/completions`. `args`: base_url, model, max_tokens, temperature, concurrency, ..."""

    kind = "chat"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._options = options = read_chat_options(args)
        self._address = allowed_address(options.base_url)
        self.concurrency = options.concurrency
        self.max_tokens = options.writing.max_tokens
        self.resent = 0
        self._marks = Marks(options.writing.think_end_token or "")
        self._form = Form()
        self._meeting = asyncio.Lock()
        self._is_met = self._has_answered = False
        self._policy = before_an_answer(options.policy)
        self._client = Client(self._address)
        self._portal: BlockingPortal | None
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        self._stack.enter_context(self._portal.wrap_async_context_manager(self._client))

    def identity(self) -> dict[str, Any]:
        """Everything that is known of the model; the server does not say more."""
        return {
            "generator": self.kind,
            "base_url": str(self._address),
            "model": self._options.model,
            **self._options.writing.as_dict(),
        }

    def generate(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        *,
        sample: int = 0,
        wants_tokens: bool = False,
    ) -> Generated:
        """As `Generator.generate`; CancelledError where `close` was called meanwhile."""
        if self._portal is None:
            raise CancelledError
        parameters = partial(self._parameters, schema, sample, wants_tokens)
        answer: Generated = self._portal.call(self._counted, messages, parameters)
        return answer

    def close(self) -> None:
        portal, self._portal = self._portal, None
        if portal is None:
            return
        portal.call(portal.stop, True)  # cancels what is under way
        self._stack.pop_all()

    async def _counted(
        self, messages: Sequence[Message], parameters_in: Callable[[Form], dict[str, Any]]
    ) -> Generated:
        sent = 0

        def count() -> None:
            nonlocal sent
            sent += 1
            self.resent += sent > 1

        try:
            answer = await self._ask(messages, parameters_in, count)
        except NoAnswerError as error:
            error.resent = max(sent - 1, 0)
            raise
        return replace(answer, resent=max(sent - 1, 0))

    async def _ask(
        self,
        messages: Sequence[Message],
        parameters_in: Callable[[Form], dict[str, Any]],
        on_sent: Callable[[], None],
    ) -> Generated:
        await self._meet()
        began = time.monotonic()
        while True:
            form = self._form
            parameters = parameters_in(form)
            turns = [{"role": m.role, "content": m.content} for m in messages]
            path = f"{self._address.path}/chat/completions"
            try:
                payload = {**parameters, "messages": turns}
                reply = await self._client.ask(
                    path, self._policy, MAX_BYTES, payload, check=check_whole, on_sent=on_sent
                )
                self._has_answered, self._policy = True, self._options.policy
                seconds = time.monotonic() - began
                return read_answer(reply.value, seconds, parameters, self._marks)
            except RefusedError as error:
                easier = form.easier(error, parameters)
                if easier is None:
                    return self._refused(error, time.monotonic() - began, parameters)
                self._form = easier
            except ForbiddenError as error:
                if error.refusal.status != FORBIDDEN:
                    raise
                # Some models may not be asked for the likeliest tokens
                easier = form.easier(error.refusal, parameters)
                if easier is None:
                    return self._forbidden(error, time.monotonic() - began, parameters)
                self._form = easier
            except GaveUpError as error:
                if error.is_of_request:
                    raise NoAnswerError(str(error)) from error
                raise
            except ChatAnswerError as error:
                raise NoAnswerError(f"The server at {self._address.origin} {error}.") from error

    async def _meet(self) -> None:
        """Find out, before the first question, whether anybody is there: any answer in HTTP will do.

        Raises:
            ScoringError: nobody is.
        """
        async with self._meeting:
            if self._is_met:
                return
            path, policy = f"{self._address.path}/models", first_contact(self._options.policy)
            try:
                await self._client.ask(path, policy, MAX_BYTES)
            except GaveUpError as error:
                if not error.status:
                    raise ScoringError(f"{error} {START_IT}") from error
            except (RefusedError, ScoringError):
                pass  # many have no such page; what is wrong with the server, the question says
            self._is_met = True

    def _parameters(
        self, schema: Mapping[str, Any] | None, sample: int, wants_tokens: bool, form: Form
    ) -> dict[str, Any]:
        writing = self._options.writing
        parameters = {"model": self._options.model, **writing.as_dict()}
        parameters[form.limit_name] = parameters.pop("max_tokens")
        for ours in ("think_end_token", "enable_thinking"):
            parameters.pop(ours, None)
        if writing.seed is not None:
            parameters["seed"] = writing.seed + sample
        if wants_tokens and form.gives_tokens:
            parameters |= {"logprobs": True, "top_logprobs": MOST_LIKELY}
        if writing.template_arguments:
            parameters["chat_template_kwargs"] = writing.template_arguments
        if schema is not None and form.takes_schema:
            described = {"name": "answer", "strict": True, "schema": schema}
            parameters["response_format"] = {"type": "json_schema", "json_schema": described}
        return parameters

    def _forbidden(
        self, error: ForbiddenError, seconds: float, parameters: Mapping[str, Any]
    ) -> Generated:
        """Some gateways keep back one request in this way; where it is the key, the next fail too."""
        if is_moderated(error.refusal):
            return self._refused(error.refusal, seconds, parameters)
        raise NoAnswerError(str(error)) from error

    def _refused(
        self, error: RefusedError, seconds: float, parameters: Mapping[str, Any]
    ) -> Generated:
        """A refusal for what these messages say is an answer; one for their form concerns them alone, any other all."""
        if is_moderated(error):
            finish = Finish.FILTERED
        elif error.code == "context_length_exceeded" or is_too_long(error.words):
            finish = Finish.TOO_LONG
        else:
            what_to_do = ""
            if not self._has_answered and error.status in REFUSED_PARAMETER:
                # Every request would be refused for an argument that the first refusal names
                words = error.words.lower()
                named = (n for n in WITHOUT if n in parameters and re.search(rf"\b{n}\b", words))
                name = next(named, None)
                what_to_do = f" {WITHOUT[name]}." if name else ""
            of_request = error.status in OF_REQUEST and not what_to_do
            kind = NoAnswerError if of_request else ScoringError
            said = str(error).removesuffix(".")
            raise kind(
                f"The server at {self._address.origin} refused: {said}.{what_to_do}"
            ) from error
        nothing = Usage()  # what a server refuses it does not read
        raw = {"status": error.status, "message": error.message, "code": error.code}
        return Generated(
            "", finish, nothing, seconds, detail=error.message, request=parameters, raw=raw
        )
