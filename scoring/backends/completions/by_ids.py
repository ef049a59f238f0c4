"""Prompts as token ids with `echo`, as vLLM and SGLang take them: what is scored is what our tokenizer made."""

from typing import Any

from scoring.backends.completions.answers import Answer, read_answer
from scoring.backends.completions.endpoint import Endpoint
from scoring.backends.http.client import Client
from scoring.backends.http.errors import RefusedError
from scoring.backends.http.policy import RetryPolicy

# Extensions of vLLM and SGLang: which ids were scored, and which was generated
FLAGS = {"return_token_ids": True, "return_tokens_as_token_ids": True}


class ByIds:
    """Asks with ids; the flags are left out once a server has refused them."""

    described = "token ids"

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._takes_flags = True

    async def ask(
        self,
        client: Client,
        ids: list[int],
        policy: RetryPolicy,
        *,
        spelt: bool = False,
        is_trial: bool = False,
    ) -> Answer:
        """The n + 1 numbers of n ids; `spelt`: with the tokens' texts, not their ids.

        Raises:
            AnswerError, RefusedError, ScoringError.
        """
        flags = {} if spelt or not self._takes_flags else FLAGS
        payload: dict[str, Any] = {"prompt": ids, "echo": True, **flags}
        try:
            value = await self._endpoint.ask(client, policy, len(ids), payload, is_trial=is_trial)
        except RefusedError as error:
            if flags and any(flag in error.message for flag in FLAGS):
                self._takes_flags = False  # a server that wants nothing beyond OpenAI's own
                return await self.ask(client, ids, policy, spelt=True, is_trial=is_trial)
            raise
        return read_answer(value, ids)
