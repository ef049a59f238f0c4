"""The common part of models that write elsewhere: requests live in one event loop in a thread of its own."""

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from scoring.backends.http.errors import RefusedError, is_moderated, is_too_long
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage

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


def with_answer_form(
    parameters: Mapping[str, Any],
    form: Form,
    schema: Mapping[str, Any] | None,
    *,
    wants_tokens: bool,
) -> dict[str, Any]:
    """The parameters with those that ask for the likeliest tokens and for JSON of a schema, where the server takes them."""
    asked = dict(parameters)
    if wants_tokens and form.gives_tokens:
        asked |= {"logprobs": True, "top_logprobs": MOST_LIKELY}
    if schema is not None and form.takes_schema:
        described = {"name": "answer", "strict": True, "schema": schema}
        asked["response_format"] = {"type": "json_schema", "json_schema": described}
    return asked


class Remote(ABC):
    """Asks within the event loop, and counts requests that are sent again. `server`: the beginning of sentences about it."""

    def __init__(self, server: str) -> None:
        self.resent = 0
        self.has_answered = False
        self._server = server
        self._form = Form()
        self._stack = ExitStack()
        self._portal: BlockingPortal | None
        self._portal = self._stack.enter_context(start_blocking_portal())

    @property
    def takes_schema(self) -> bool:
        """False once the server has refused one."""
        return self._form.takes_schema

    def generate(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        *,
        sample: int = 0,
        wants_tokens: bool = False,
    ) -> Generated:
        """As `Generator.generate`; CancelledError where `close` was called meanwhile."""
        parameters = partial(self._parameters, schema, sample, wants_tokens)
        return self._call(partial(self._ask, messages, parameters))

    @abstractmethod
    def _parameters(
        self, schema: Mapping[str, Any] | None, sample: int, wants_tokens: bool, form: Form
    ) -> dict[str, Any]:
        """The parameters of a request of this form."""

    @abstractmethod
    async def _ask(
        self,
        messages: Sequence[Message],
        parameters_in: Callable[[Form], dict[str, Any]],
        on_sent: Callable[[], None],
    ) -> Generated:
        """The answer, in whatever form the server takes; `on_sent` is called for each request."""

    def close(self) -> None:
        portal, self._portal = self._portal, None
        if portal is None:
            return
        portal.call(portal.stop, True)  # cancels what is under way
        self._stack.pop_all()

    def _call(self, ask: Callable[[Callable[[], None]], Awaitable[Generated]]) -> Generated:
        """The answer of `ask`, which is given what to call for each request that it sends.

        Raises:
            CancelledError: `close` was called meanwhile.
        """
        if self._portal is None:
            raise CancelledError
        answer: Generated = self._portal.call(self._counted, ask)
        return answer

    async def _counted(
        self, ask: Callable[[Callable[[], None]], Awaitable[Generated]]
    ) -> Generated:
        sent = 0

        def count() -> None:
            nonlocal sent
            sent += 1
            self.resent += sent > 1

        try:
            answer = await ask(count)
        except NoAnswerError as error:
            error.resent = max(sent - 1, 0)
            raise
        return replace(answer, resent=max(sent - 1, 0))

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
            if not self.has_answered and error.status in REFUSED_PARAMETER:
                # Every request would be refused for an argument that the first refusal names
                words = error.words.lower()
                named = (n for n in WITHOUT if n in parameters and re.search(rf"\b{n}\b", words))
                name = next(named, None)
                what_to_do = f" {WITHOUT[name]}." if name else ""
            of_request = error.status in OF_REQUEST and not what_to_do
            kind = NoAnswerError if of_request else ScoringError
            said = str(error).removesuffix(".")
            raise kind(f"{self._server} refused: {said}.{what_to_do}") from error
        nothing = Usage()  # what a server refuses it does not read
        raw = {"status": error.status, "message": error.message, "code": error.code}
        return Generated(
            "", finish, nothing, seconds, detail=error.message, request=parameters, raw=raw
        )
