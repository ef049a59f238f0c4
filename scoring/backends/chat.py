"""Has a model write that is served elsewhere: an OpenAI-style `/v1/chat/completions`.

Requests live in one event loop in a thread of its own; `generate` waits for one of them, and any number of threads may
call it. What a server does not know (a JSON Schema, a name for the most tokens) is left out from then on.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scoring.backends.chat_answers import ChatAnswerError, check_whole, read_answer
from scoring.backends.http.address import allowed_address
from scoring.backends.http.client import Client
from scoring.backends.http.errors import ForbiddenError, GaveUpError, RefusedError, is_moderated
from scoring.backends.options import (
    before_an_answer,
    first_contact,
    read_chat_options,
)
from scoring.backends.remote import FORBIDDEN, Form, Remote, with_answer_form
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import Generated, Message
from scoring.domain.thinking import Marks

MAX_BYTES = 2**22
START_IT = "It has not answered once in this run. Start it, or correct base_url, and then continue the run."


class ChatGenerator(Remote):
    """A model behind `/v1/chat/completions`. `args`: base_url, model, max_tokens, temperature, concurrency, ..."""

    kind = "chat"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._options = options = read_chat_options(args)
        self._address = allowed_address(options.base_url)
        self._client = Client(self._address)
        super().__init__(f"The server at {self._address.origin}")
        self.concurrency = options.concurrency
        self.max_tokens = options.writing.max_tokens
        self._marks = Marks(options.writing.think_end_token or "")
        self._meeting = asyncio.Lock()
        self._is_met = False
        self._policy = before_an_answer(options.policy)
        assert self._portal is not None
        self._stack.enter_context(self._portal.wrap_async_context_manager(self._client))

    def identity(self) -> dict[str, Any]:
        """Everything that is known of the model; the server does not say more."""
        return {
            "generator": self.kind,
            "base_url": str(self._address),
            "model": self._options.model,
            **self._options.writing.as_dict(),
        }

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
                self.has_answered, self._policy = True, self._options.policy
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
                raise NoAnswerError(f"{self._server} {error}.") from error

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
        if writing.template_arguments:
            parameters["chat_template_kwargs"] = writing.template_arguments
        return with_answer_form(parameters, form, schema, wants_tokens=wants_tokens)

    def _forbidden(
        self, error: ForbiddenError, seconds: float, parameters: Mapping[str, Any]
    ) -> Generated:
        """Some gateways keep back one request in this way; where it is the key, the next fail too."""
        if is_moderated(error.refusal):
            return self._refused(error.refusal, seconds, parameters)
        raise NoAnswerError(str(error)) from error
