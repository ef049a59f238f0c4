"""Scores texts with a model that is served elsewhere: an OpenAI-style `/v1/completions`, as vLLM and SGLang have it.

The prompt goes out with `echo`, as token ids (asking.ByIds) or, to a server that takes none, as a string (ByStrings),
and the log-probabilities of all its tokens come back. docs/models.md says how to start such a server.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from scoring.backends.completions.answers import Answer, AnswerError, text_logprobs
from scoring.backends.completions.asking import ByIds, ByStrings, Endpoint
from scoring.backends.completions.probe import SENTENCES, probe, probe_strings
from scoring.backends.http.address import allowed_address
from scoring.backends.http.client import Client, ask_all
from scoring.backends.http.errors import GaveUpError, RefusedError, clean, is_too_long
from scoring.backends.options import RetryPolicy, first_contact, read_completions_options
from scoring.backends.reading import in_order
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.domain.backend import Group, GroupResult, LogProbs, ScoringError, TextError, TokenText

MAX_BYTES = 2**20
OPTIONAL = RetryPolicy(3, 3)
MOST_NAMES_SHOWN = 5


async def ask_facts(client: Client, path: str, model: str, policy: RetryPolicy) -> dict[str, Any]:
    """The served model and the program that serves it; what a server has no page for is None. Texts are cleaned.

    Args:
        path: of the API, ending in its version.
        model: must be among the served ones, where they are named.
    Raises:
        ScoringError: the server cannot be reached, or serves other models.
    """
    try:
        reply = await client.ask(f"{path}/models", first_contact(policy), MAX_BYTES)
    except RefusedError:
        facts = dict.fromkeys(("id", "root", "max_model_len", "server"))
        return {**facts, "version": await _version(client, path)}
    data = reply.value.get("data") if isinstance(reply.value, dict) else None
    cards = [card for card in data if isinstance(card, dict)] if isinstance(data, list) else []
    card = next((card for card in cards if card.get("id") == model), {})
    # Other services have lists of other things, whose names are not for this page
    named = [other.get("id") for other in cards if other.get("object") == "model"]
    names = [name for one in named if (name := _clean_text(one))]
    if not card and names:
        shown = ", ".join(names[:MOST_NAMES_SHOWN])
        raise ScoringError(
            f"The server at {client.origin} does not have a model “{clean(model)}”. It has {shown}."
        )
    length = card.get("max_model_len")
    is_length = isinstance(length, int) and not isinstance(length, bool) and length > 1
    return {
        "id": _clean_text(card.get("id")),
        "root": _clean_text(card.get("root")),
        "max_model_len": length if is_length else None,
        "server": _clean_text(reply.headers.get("server")),
        "version": await _version(client, path),
    }


async def _version(client: Client, path: str) -> str | None:
    """vLLM's version is at `/version`, beside the API; a server may well have no such page."""
    try:
        reply = await client.ask(f"{path.rpartition('/')[0]}/version", OPTIONAL, MAX_BYTES)
    except (RefusedError, ScoringError):
        return None
    return _clean_text(reply.value.get("version")) if isinstance(reply.value, dict) else None


def _clean_text(value: Any) -> str | None:
    return clean(value, 200) if isinstance(value, str) and value.strip() else None


logger = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")

TOKENS_PER_REQUEST = 2048  # of a batch, so that all connections have work
NO_START = (
    "does not accept token IDs, and scores a text correctly only after a start token (BOS), which the given "
    "tokenizer does not add"
)


class CompletionsBackend:
    """A model behind `/v1/completions`; `remarks` holds what the probe found that scores can suffer from."""

    kind = "completions"

    def __init__(self, args: Mapping[str, str]) -> None:
        self._options = options = read_completions_options(args)
        self._address = allowed_address(options.base_url)
        self.tokenizer: Any = load_tokenizer(options.tokenizer, options.revision)
        (self._facts,) = ask_all(
            self._address,
            1,
            lambda client, model: ask_facts(client, self._address.path, model, options.probing),
            [options.model],
        )
        window = options.context_tokens or self._facts["max_model_len"]
        # One token is generated after the text, and needs its place
        self.context_tokens: int | None = window - 1 if window else None
        self.remarks: list[str] = []
        self._probing = options.probing
        self._endpoint = Endpoint(f"{self._address.path}/completions", options.model)
        self._by: ByIds | ByStrings = ByIds(self._endpoint)

    def identity(self) -> Mapping[str, Any]:
        """Everything that is known of the model; a server does not give its dtype, attention, device or weights."""
        import tokenizers
        import transformers

        return {
            "backend": self.kind,
            "base_url": str(self._address),
            "model": self._options.model,
            "served": self._facts,
            "tokenizer": self._options.tokenizer,
            "tokenizer_revision": self._options.revision,
            "tokenizer_sha256": tokenizer_hash(self.tokenizer),
            "context_tokens": self.context_tokens,
            "request": self._endpoint.constants | {"echo": True, "prompt": self._by.described},
            "libraries": {
                "transformers": transformers.__version__,
                "tokenizers": tokenizers.__version__,
            },
        } | dict.fromkeys(("dtype", "attention", "device", "weights_sha256"))

    def prepare(self, groups: Sequence[Group]) -> None:
        """Find out how the server can be asked, and probe it: probe.py."""
        try:
            self._find_form()  # a quick end for what cannot work
            longest = self._longest_taken(groups)
            if isinstance(self._by, ByIds):
                self.remarks = probe(self._ask_for_probe, self.tokenizer, longest)
            else:
                by = self._by
                self._ask_all(lambda client, _: by.check_start(client, self._probing), [None])
                self.remarks = probe_strings(
                    self._ask_for_probe,
                    lambda pairs: self._ask_all(
                        lambda client, pair: by.forced(client, *pair, self._probing), pairs
                    ),
                    by,
                    longest,
                )
        except AnswerError as error:
            raise self._unusable(error) from error
        except TextError as error:
            fault = AnswerError(f"cannot score a simple sentence, which {error}")
            raise self._unusable(fault) from error
        except RefusedError as error:
            raise ScoringError(
                f"The server at {self._address.origin} refused to score: {error}"
                + (
                    " (each time, although it answers plain completions)."
                    if error.status == 500
                    else "."
                )
            ) from error
        for remark in self.remarks:
            logger.warning(remark)

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        """Groups in their order, as many to a batch as have at most `batch_tokens` tokens together."""
        return in_order(groups, batch_tokens or TOKENS_PER_REQUEST * self._options.concurrency)

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        """All texts of the batch, several at a time."""
        texts = [text for group in groups for text in group]
        results = iter(self._ask_all(self._score_text, texts))
        return [[next(results) for _ in group] for group in groups]

    def close(self) -> None:
        """Nothing stays open between batches."""

    async def _score_text(self, client: Client, text: TokenText) -> LogProbs | TextError:
        ids = text.ids.tolist()
        if not ids:
            return TextError("has no token")
        if not self._fits(text):
            return TextError(
                f"has {len(ids):,} tokens, but the model accepts {self.context_tokens:,}"
            )
        try:
            return text_logprobs(await self._by.ask(client, ids, self._options.scoring))
        except TextError as error:
            return error
        except AnswerError as error:
            raise self._unusable(error) from error
        except RefusedError as error:
            if is_too_long(error.words):
                return TextError(
                    f"has {len(ids):,} tokens, more than the server accepts ({error.message})"
                )
            raise ScoringError(
                f"The server at {self._address.origin} refused {text.name}: {error}."
            ) from error
        except GaveUpError as error:
            if error.status != 500:
                raise
            try:  # a simple sentence; if it is scored, it was the text that the server failed on
                await self._by.ask(client, self._sentence(), self._probing)
            except (ScoringError, AnswerError, RefusedError, TextError):
                raise error from error.__cause__
            return TextError(f"causes an error of the server, which answers other texts: {error}")

    def _find_form(self) -> None:
        """By token ids or, where the server refuses those and takes it as a string, by strings."""
        try:
            self._ask_for_probe([self._sentence()])
        except RefusedError as refused:
            if isinstance(self._by, ByStrings):
                raise
            by = ByStrings(self._endpoint, self.tokenizer)
            try:
                self._ask_all(
                    lambda client, text: by.try_echo(client, text, self._probing), [SENTENCES[0]]
                )
            except RefusedError:
                raise refused from None
            if not by.has_start():
                raise AnswerError(NO_START) from refused
            self._by = by

    def _longest_taken(self, groups: Sequence[Group]) -> list[int] | None:
        """The longest text that fits, unless the server refuses it: scoring it will say why."""
        fitting = [t.ids.tolist() for g in groups for t in g if len(t.ids) and self._fits(t)]
        longest: list[int] | None = max(fitting, key=len, default=None)
        if longest is not None:
            try:
                self._ask_for_probe([longest])
            except (RefusedError, GaveUpError, TextError):
                return None
        return longest

    def _ask_for_probe(self, prompts: Sequence[list[int]], spelt: bool = False) -> list[Answer]:
        return self._ask_all(
            lambda client, ids: self._by.ask(
                client, ids, self._probing, spelt=spelt, is_trial=True
            ),
            prompts,
        )

    def _ask_all(
        self, work: Callable[[Client, Item], Awaitable[Result]], items: Sequence[Item]
    ) -> list[Result]:
        return ask_all(self._address, self._options.concurrency, work, items)

    def _sentence(self) -> list[int]:
        if isinstance(self._by, ByStrings):
            return self._by.ids_of(SENTENCES[0])
        return [int(i) for i in self.tokenizer(SENTENCES[0])["input_ids"]]

    def _fits(self, text: TokenText) -> bool:
        return self.context_tokens is None or len(text.ids) <= self.context_tokens

    def _unusable(self, error: AnswerError) -> ScoringError:
        return ScoringError(f"The server at {self._address.origin} {error}.")
