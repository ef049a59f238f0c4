"""How a completions server is asked: with token ids, or with strings.

`ByIds`, as vLLM and SGLang take them: what is scored is what our tokenizer made. `ByStrings`, for servers that take no
token ids (llama-cpp-python's, in front of llama.cpp):

Such a server makes tokens of a string itself, puts the model's start token (BOS) before them, and with `echo` gives the
numbers of all tokens but the start and the one after it. That one's is asked for alone: with the empty string as the
prompt, so that only the start token stands there, and `logit_bias` forcing the token, as the one generated. (Streamed,
since the server then gives its number, and with an empty prompt does not otherwise.) Which tokens the server made, and
how many, is compared with ours for each text.

Without a start token such a server puts each number one token early, and cannot be used.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.backends.completions.answers import (
    Answer,
    AnswerError,
    Spelling,
    echoed_numbers,
    only_choice,
    read_answer,
)
from scoring.backends.http.client import Client
from scoring.backends.http.errors import RefusedError
from scoring.backends.options import RetryPolicy
from scoring.domain.backend import TextError

BYTES_PER_TOKEN, BYTES_PER_ANSWER = 2048, 2**20
PLAIN_S = 10  # to generate a token after a word


@dataclass(frozen=True)
class Endpoint:
    """`/v1/completions` of a server, and a model there."""

    path: str
    model: str

    @property
    def constants(self) -> dict[str, Any]:
        """The part that every request has in common."""
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
            if flags and any(flag in error.words for flag in FLAGS):
                self._takes_flags = False  # a server that wants nothing beyond OpenAI's own
                return await self.ask(client, ids, policy, spelt=True, is_trial=is_trial)
            raise
        return read_answer(value, ids)


# OpenAI's largest: more than any logit of a model is behind another that matters
FORCE = 100


class ByStrings:
    """Asks with strings of which our tokenizer makes the ids that are meant."""

    described = "text; the number of its first token from the empty text and logit_bias"

    def __init__(self, endpoint: Endpoint, tokenizer: Any) -> None:
        self._endpoint, self._tokenizer = endpoint, tokenizer
        self._spelling = Spelling(tokenizer)
        self._first: dict[int, float] = {}  # after the start token alone
        added = tokenizer("a", return_special_tokens_mask=True)["special_tokens_mask"]
        self._n_after = int(np.argmin(added[::-1]))  # end tokens, which no text is scored with

    def has_start(self) -> bool:
        """True if our tokenizer puts one start token before a text."""
        return self.ids_of("") == [self._tokenizer.bos_token_id]

    def ids_of(self, text: str) -> list[int]:
        """The token ids of a text by our tokenizer, without an end token."""
        ids = [int(i) for i in self._tokenizer(text)["input_ids"]]
        return ids[: len(ids) - self._n_after]

    def text_of(self, ids: Sequence[int]) -> str:
        """The string that stands for these ids.

        Raises:
            TextError: there is none.
        """
        text: str = self._tokenizer.decode(list(ids[1:]), clean_up_tokenization_spaces=False)
        if self.ids_of(text) != list(ids):
            raise TextError(
                "changes when it is decoded from its tokens, and this server does not accept token IDs"
            )
        return text

    def is_text(self, ids: Sequence[int]) -> bool:
        try:
            self.text_of(ids)
        except TextError:
            return False
        return True

    async def try_echo(self, client: Client, text: str, policy: RetryPolicy) -> None:
        """Ask for the numbers of a text, whatever they are.

        Raises:
            RefusedError: the server will not.
        """
        payload = {"prompt": text, "echo": True}
        await self._endpoint.ask(client, policy, len(text), payload, is_trial=True)

    async def ask(
        self,
        client: Client,
        ids: list[int],
        policy: RetryPolicy,
        *,
        spelt: bool = True,  # it always is
        is_trial: bool = False,
    ) -> Answer:
        """The n + 1 numbers of n ids; that of the generated token is left unknown.

        Raises:
            TextError: the server makes other tokens of this text.
            AnswerError, RefusedError, ScoringError.
        """
        payload = {"prompt": self.text_of(ids), "echo": True}
        value = await self._endpoint.ask(client, policy, len(ids), payload, is_trial=is_trial)
        if tokens_read(value) != len(ids):
            raise TextError(
                f"becomes {tokens_read(value)} tokens at the server but {len(ids)} with the given tokenizer, including the "
                "start token"
            )
        numbers, tokens = echoed_numbers(value, len(ids) - 1)
        if misspelt := self._spelling.misspelt(ids[1:], tokens):
            token_id, token = misspelt[0]
            raise TextError(
                f"becomes other tokens at the server: {token[:40]!r}, but the given tokenizer has "
                f"{self._tokenizer.decode([token_id])!r}"
            )
        if ids[1] not in self._first:
            self._first[ids[1]] = await self.forced(client, ids[:1], ids[1], policy)
        return Answer(
            (None, self._first[ids[1]], *numbers[1:], None), ("", *tokens, ""), None, None
        )

    async def forced(self, client: Client, ids: list[int], then: int, policy: RetryPolicy) -> float:
        """The log-probability that the server gives a token as the one that it generates after these."""
        payload = {
            "prompt": self.text_of(ids) if len(ids) > 1 else "",
            "stream": True,
            "logit_bias": {str(then): FORCE},
        }
        value = await self._endpoint.ask(
            client, policy, len(ids), payload, is_trial=True, read=first_event
        )
        numbers, tokens = echoed_numbers(value, 1)
        if self._spelling.misspelt([then], tokens):
            raise AnswerError(
                f"generated {tokens[0][:40]!r} although logit_bias forced token {then}, which the given tokenizer decodes as "
                f"{self._tokenizer.decode([then])!r}"
            )
        return math.nan if numbers[0] is None else numbers[0]

    async def check_start(self, client: Client, policy: RetryPolicy) -> None:
        """The empty string has to be the start token alone, as before every text.

        Raises:
            AnswerError: it is not.
        """
        try:
            value = await self._endpoint.ask(client, policy, 1, {"prompt": ""}, is_trial=True)
        except RefusedError as error:  # there is nothing for it to begin with
            raise AnswerError(
                f"refuses the empty text ({error.status}), so it does not add a start token (BOS) to a text; without one, its "
                "numbers are shifted by one token"
            ) from error
        if tokens_read(value) != 1:
            raise AnswerError(
                f"reads the empty text as {tokens_read(value)} tokens; it must add the model's start token (BOS) to a text, and "
                "nothing else"
            )


def tokens_read(value: Any) -> int:
    """How many tokens the server made of the prompt.

    Raises:
        AnswerError: it does not say.
    """
    only_choice(value)
    usage = value.get("usage")
    n = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    if not isinstance(n, int) or isinstance(n, bool):
        raise AnswerError(
            "does not accept token IDs, and does not report the number of a text's tokens in usage.prompt_tokens"
        )
    return n


def first_event(body: bytes) -> Any:
    """The first value of an answer that is sent as events.

    >>> first_event(b': comment\\r\\ndata: {"a": 1}\\r\\n\\r\\ndata: [DONE]')
    {'a': 1}
    """
    lines = (line for line in body.splitlines() if line.startswith(b"data:"))
    return json.loads(next(lines, b"data:").removeprefix(b"data:"))
