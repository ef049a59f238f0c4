"""The one address that prompts go to, and how an answer that is no error is come by. Knows nothing of what is asked."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring.backends.http.client import Client
from scoring.backends.http.policy import RetryPolicy

BYTES_PER_TOKEN, BYTES_PER_ANSWER = 2048, 2**20
PLAIN_S = 10  # to generate a token after a word


@dataclass(frozen=True)
class Endpoint:
    """`/v1/completions` of a server, and a model there."""

    path: str
    model: str

    @property
    def constants(self) -> dict[str, Any]:
        """What every request says."""
        return {"model": self.model, "max_tokens": 1, "temperature": 0, "logprobs": 1}

    async def ask(
        self,
        client: Client,
        policy: RetryPolicy,
        n_tokens: int,
        payload: dict[str, Any],
        *,
        is_trial: bool,
        read: Callable[[bytes], Any] = json.loads,
    ) -> Any:
        """The answer's value to a prompt of so many tokens.

        Args:
            is_trial: of a server not yet known to score, which may be unable to for ever.
            read: makes a value of the answer's bytes.
        Raises:
            RefusedError, GaveUpError, ScoringError: as `Client.ask`.
        """

        async def answers_plain() -> bool:
            plain = {"model": self.model, "prompt": "The", "max_tokens": 1}
            return await client.answers(self.path, plain, min(policy.attempt_s, PLAIN_S))

        reply = await client.ask(
            self.path,
            policy,
            BYTES_PER_ANSWER + BYTES_PER_TOKEN * n_tokens,
            self.constants | payload,
            answers_others=answers_plain if is_trial else None,
            read=read,
        )
        return reply.value
