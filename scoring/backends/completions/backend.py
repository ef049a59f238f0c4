"""Scores texts with a model that is served elsewhere: an OpenAI-style `/v1/completions`, as vLLM and SGLang have it.

The prompt goes out as token ids with `echo`, so that what is scored is what our tokenizer made, and the
log-probabilities of all its tokens come back. docs/serving.md says how to start such a server.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.backends.completions.address import check_allowed, parse_address
from scoring.backends.completions.answers import Answer, AnswerError, read_answer, text_logprobs
from scoring.backends.completions.client import Client, ask_all
from scoring.backends.completions.errors import GaveUpError, RefusedError
from scoring.backends.completions.options import RetryPolicy, read_options
from scoring.backends.completions.probe import SENTENCES, probe
from scoring.backends.completions.server_info import ask_facts
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.domain.backend import Group, GroupResult, LogProbs, ScoringError, TextError, TokenText

logger = logging.getLogger(__name__)

TOKENS_PER_REQUEST = 2048  # of a batch, so that all connections have work
BYTES_PER_TOKEN, BYTES_PER_ANSWER = 2048, 2**20
PLAIN_S = 10  # to generate a token after a word
# Extensions of vLLM and SGLang: which ids were scored, and which was generated
BY_ID = {"return_token_ids": True, "return_tokens_as_token_ids": True}
TOO_LONG = re.compile(
    r"context.{0,20}length|context window|maximum.{0,20}length|max_model_len|max_total_tokens"
    r"|longer than|too long|too many tokens|exceeds?\b.{0,40}\b(tokens|length|limit)",
    re.IGNORECASE,
)


class CompletionsBackend:
    """A model behind `/v1/completions`; `remarks` holds what the probe found that scores can suffer from."""

    kind = "completions"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._options = options = read_options(args)
        self._address = parse_address(options.base_url)
        check_allowed(self._address, _allowed_hosts())
        self.tokenizer: Any = load_tokenizer(options.tokenizer, options.revision)
        (self._facts,) = ask_all(
            self._address,
            1,
            lambda client, model: ask_facts(client, self._address.path, model, options.probing),
            [options.model],
        )
        window = options.context_tokens or self._facts.max_model_len
        # One token is generated after the text, and needs its place
        self.context_tokens: int | None = window - 1 if window else None
        self.remarks: list[str] = []
        self._takes_ids_flags = True

    def identity(self) -> Mapping[str, Any]:
        """What is known of the model; a server does not give its dtype, attention, device or weights."""
        import tokenizers
        import transformers

        return {
            "backend": self.kind,
            "base_url": str(self._address),
            "model": self._options.model,
            "served": self._facts.as_dict(),
            "tokenizer": self._options.tokenizer,
            "tokenizer_revision": self._options.revision,
            "tokenizer_sha256": tokenizer_hash(self.tokenizer),
            "context_tokens": self.context_tokens,
            "request": self._payload([], by_id=False) | {"prompt": "token ids"},
            "libraries": {
                "transformers": transformers.__version__,
                "tokenizers": tokenizers.__version__,
            },
        } | dict.fromkeys(("dtype", "attention", "device", "weights_sha256"))

    def prepare(self, groups: Sequence[Group]) -> None:
        """Probe the server; see probe.py."""
        try:
            self._ask_for_probe([self._sentence()])  # a quick end for what cannot work
            self.remarks = probe(self._ask_for_probe, self.tokenizer, self._longest_taken(groups))
        except AnswerError as error:
            raise self._unusable(error) from error
        except RefusedError as error:
            raise ScoringError(
                f"The server at {self._address.origin} refused to score: {error}"
                + (
                    " (each time, though it answers plain completions)."
                    if error.status == 500
                    else "."
                )
            ) from error
        for remark in self.remarks:
            logger.warning(remark)

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        """Groups in their order, as many to a batch as have at most `batch_tokens` tokens together."""
        most = batch_tokens or TOKENS_PER_REQUEST * self._options.concurrency
        batches: list[list[int]] = []
        filled = 0
        for index, group in enumerate(groups):
            tokens = sum(len(text.ids) for text in group)
            if not batches or filled + tokens > most:
                batches.append([])
                filled = 0
            batches[-1].append(index)
            filled += tokens
        return batches

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        """All texts of the batch, several at a time."""
        texts = [text for group in groups for text in group]
        results = iter(ask_all(self._address, self._options.concurrency, self._score_text, texts))
        return [[next(results) for _ in group] for group in groups]

    def close(self) -> None:
        """Nothing stays open between batches."""

    async def _score_text(self, client: Client, text: TokenText) -> LogProbs | TextError:
        ids = text.ids.tolist()
        if not ids:
            return TextError("has no token")
        if not self._fits(text):
            return TextError(
                f"has {len(ids):,} tokens, and the model takes {self.context_tokens:,}"
            )
        try:
            return text_logprobs(await self._ask(client, ids, self._options.scoring))
        except TextError as error:
            return error
        except AnswerError as error:
            raise self._unusable(error) from error
        except RefusedError as error:
            if TOO_LONG.search(error.message):
                return TextError(
                    f"has {len(ids):,} tokens, more than the server takes ({error.message})"
                )
            raise ScoringError(
                f"The server at {self._address.origin} refused {text.name}: {error}."
            ) from error
        except GaveUpError as error:
            if error.status == 500 and await self._answers_otherwise(client):
                return TextError(f"makes the server fail, which answers others: {error}")
            raise

    def _longest_taken(self, groups: Sequence[Group]) -> list[int] | None:
        """The longest text that fits, unless the server refuses it: scoring it will say why."""
        fitting = [t.ids.tolist() for g in groups for t in g if len(t.ids) and self._fits(t)]
        longest: list[int] | None = max(fitting, key=len, default=None)
        if longest is not None:
            try:
                self._ask_for_probe([longest])
            except (RefusedError, GaveUpError):
                return None
        return longest

    def _ask_for_probe(self, prompts: Sequence[list[int]], spelt: bool = False) -> list[Answer]:
        policy = self._options.probing
        return ask_all(
            self._address,
            self._options.concurrency,
            lambda client, ids: self._ask(client, ids, policy, by_id=not spelt, is_trial=True),
            prompts,
        )

    async def _answers_otherwise(self, client: Client) -> bool:
        """Whether the server scores a simple sentence: then it was the text that it failed on."""
        try:
            await self._ask(client, self._sentence(), self._options.probing)
        except (ScoringError, AnswerError, RefusedError):
            return False
        return True

    def _sentence(self) -> list[int]:
        return [int(i) for i in self.tokenizer(SENTENCES[0])["input_ids"]]

    async def _ask(
        self,
        client: Client,
        ids: list[int],
        policy: RetryPolicy,
        by_id: bool = True,
        is_trial: bool = False,
    ) -> Answer:
        by_id = by_id and self._takes_ids_flags
        path = f"{self._address.path}/completions"
        most = BYTES_PER_ANSWER + BYTES_PER_TOKEN * len(ids)

        async def answers_plain() -> bool:
            plain = {"model": self._options.model, "prompt": "The", "max_tokens": 1}
            return await client.answers(path, plain, min(policy.attempt_s, PLAIN_S))

        try:
            reply = await client.ask(
                path,
                policy,
                most,
                self._payload(ids, by_id),
                answers_others=answers_plain if is_trial else None,
            )
        except RefusedError as error:
            if by_id and any(flag in error.message for flag in BY_ID):
                self._takes_ids_flags = False  # a server that wants nothing beyond OpenAI's own
                return await self._ask(client, ids, policy, False, is_trial)
            raise
        return read_answer(reply.value, ids)

    def _payload(self, ids: list[int], by_id: bool) -> dict[str, Any]:
        payload = {
            "model": self._options.model,
            "prompt": ids,
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }
        return payload | BY_ID if by_id else payload

    def _fits(self, text: TokenText) -> bool:
        return self.context_tokens is None or len(text.ids) <= self.context_tokens

    def _unusable(self, error: AnswerError) -> ScoringError:
        return ScoringError(f"The server at {self._address.origin} {error}.")


def _allowed_hosts() -> Sequence[str]:
    from django.conf import settings  # here, so that the module can be imported without settings

    return list(settings.SCORING_HOSTS)
