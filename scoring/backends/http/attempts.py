"""Attempts at one request of a server, with growing pauses between them, within the time that a policy gives."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from scoring.backends.http.errors import (
    TOO_MANY,
    GaveUpError,
    RefusedError,
    RetryableError,
    pause_s,
)
from scoring.backends.http.limits import Limits
from scoring.backends.options import RetryPolicy

SHORTEST_ATTEMPT_S = 0.05

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class Attempts(Generic[Result]):
    """Attempts at one request until one succeeds.

    A server that puts requests off is waited for as long as it answers others: the time counts from its last answer. Pauses
    that all requests keep do not count.

    attempt: is given the seconds that it may take; a RetryableError says that it failed.
    server: the beginning of sentences about it.
    answers_others: as in `Client.ask`.
    """

    def __init__(
        self,
        attempt: Callable[[float], Awaitable[Result]],
        policy: RetryPolicy,
        limits: Limits,
        server: str,
        answers_others: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._attempt, self._policy, self._limits = attempt, policy, limits
        self._server, self._answers_others = server, answers_others
        self._failures: list[str] = []
        self._tries = 0
        self._started = time.monotonic()

    async def result(self) -> Result:
        """The value that the first good attempt returns.

        Raises:
            RefusedError: the server fails on this request alone.
            GaveUpError: the time is over, or the tries are.
        """
        began = time.monotonic()
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(RetryableError),
            wait=pause_s,
            stop=self._is_over,
            before_sleep=self._say_pause,
            reraise=True,
        )
        try:
            return await retrying(self._try_once)
        except RetryableError as error:
            n, spent_s = retrying.statistics["attempt_number"], time.monotonic() - began
            times = "once" if n == 1 else f"{n} times"
            sentence = f"{self._server} {error} (asked {times} in {spent_s:.1f} s)."
            asked_s = error.retry_after_s
            if asked_s is not None and asked_s >= self._rest_s:
                sentence = f"{self._server} {error} and {self._is_too_long(asked_s)}"
            raise GaveUpError(sentence, error.status, error.is_of_request) from error

    @property
    def _rest_s(self) -> float:
        """Seconds that are left for this request."""
        return self._policy.total_s - (time.monotonic() - self._started)

    async def _try_once(self) -> Result:
        if self._limits.left_s > self._rest_s:
            sentence = f"{self._server} {self._is_too_long(self._limits.left_s)}"
            raise GaveUpError(sentence, TOO_MANY)
        self._started += await self._limits.passed()
        try:
            timeout_s = min(self._policy.attempt_s, self._rest_s)
            result = await self._attempt(max(SHORTEST_ATTEMPT_S, timeout_s))
        except RetryableError as error:
            await self._has_failed(error)
            raise
        self._limits.answered_at = time.monotonic()
        return result

    async def _has_failed(self, error: RetryableError) -> None:
        """Note a failure.

        Raises:
            RefusedError: the server will fail on this request for ever.
        """
        if error.retry_after_s:
            self._limits.pause(error.retry_after_s)
        if error.is_reached and not error.is_of_request:
            self._started = max(self._started, self._limits.answered_at)
        self._tries += error.is_of_request
        # Times and numbers of requests differ though the failure is the same
        words = (w for w in str(error).split() if not any(map(str.isdigit, w)))
        self._failures.append(" ".join(words))
        is_doubtful = error.status == 500 and self._failures[-2:] == self._failures[-1:] * 2
        if is_doubtful and self._answers_others is not None and await self._answers_others():
            raise RefusedError(error.status, error.said) from error

    def _is_over(self, state: RetryCallState) -> bool:
        if self._policy.tries is not None and self._tries >= self._policy.tries:
            return True
        return state.upcoming_sleep >= self._rest_s

    def _say_pause(self, state: RetryCallState) -> None:
        """A pause that the server asks for may be long: who watches is told why nothing moves."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, RetryableError) and error.retry_after_s:
            waits_s = state.next_action.sleep if state.next_action else error.retry_after_s
            logger.warning(
                "%s answered %s and requests a pause (Retry-After). The next attempt is in %.0f s.",
                self._server,
                error.status,
                waits_s,
            )

    def _is_too_long(self, asked_s: float) -> str:
        return (
            f"requests a pause of {asked_s:.0f} s, longer than the rest of the {self._policy.total_s:.3g} s for one request "
            "(retry_seconds)."
        )
