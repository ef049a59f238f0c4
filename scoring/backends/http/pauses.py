"""How long to wait before a request is sent again. Sends none."""

from tenacity import RetryCallState
from tenacity.wait import wait_exponential, wait_random_exponential

from scoring.backends.http.errors import RetryableError

# A random half to whole of 0.5, 1, 2 ... up to 30 seconds
BACKOFF = wait_exponential(multiplier=0.25, max=15) + wait_random_exponential(0.25, max=15)


def pause_s(state: RetryCallState) -> float:
    """Growing and random, but at least what the server asks for."""
    error = state.outcome.exception() if state.outcome else None
    asked_s = error.retry_after_s if isinstance(error, RetryableError) else None
    return max(BACKOFF(state), asked_s or 0.0)
