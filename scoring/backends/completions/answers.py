"""Reads what a completions server answers to a prompt of token ids with `echo`. Pure: trusts nothing in it.

The form is OpenAI's: `choices[0].logprobs` with `token_logprobs` and `tokens`, one entry for each token of the
prompt and one for the token generated after it. vLLM and SGLang add `prompt_token_ids` and `token_ids` beside it
when asked with `return_token_ids`; vLLM writes tokens as `token_id:N` when asked with `return_tokens_as_token_ids`.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scoring.domain.backend import LogProbs, TextError

# What vLLM writes for the logarithm of 0, which JSON cannot hold
FLOOR = -9999.0
# A sum of rounded exponentials may come out as a hair more than a certainty
ROUNDING = 1e-4
ID_MARK = "token_id:"


class AnswerError(Exception):
    """The answer is not what was asked for; the message goes on after "the server"."""


@dataclass(frozen=True)
class Answer:
    """The n + 1 tokens of a prompt and the one generated after it.

    `logprobs` as sent (None where null); `tokens` as the server spells them; `prompt_ids` and `generated_id` None
    where the server does not say.
    """

    logprobs: tuple[float | None, ...]
    tokens: tuple[str, ...]
    prompt_ids: tuple[int, ...] | None
    generated_id: int | None


def read_answer(value: Any, ids: Sequence[int]) -> Answer:
    """Check an answer's form.

    Args:
        value: the answer, parsed from JSON.
        ids: the n token ids that were sent.
    Raises:
        AnswerError: it has not n + 1 log-probabilities, the first of them null.

    >>> sent = {"token_logprobs": [None, -1.5, -0.5], "tokens": ["a", "b", "c"]}
    >>> read_answer({"choices": [{"logprobs": sent}]}, [7, 8]).logprobs
    (None, -1.5, -0.5)
    """
    choice = only_choice(value)
    numbers, tokens = _numbers_and_tokens(choice)
    prompt_ids = _ids(choice.get("prompt_token_ids")) or _marked_ids(tokens[:-1])
    _check_length(len(numbers), len(ids))
    if numbers[0] is not None:
        raise AnswerError(
            f"gave the first token a log-probability ({numbers[0]:.4g}), which must be null because no token comes before it"
        )
    if prompt_ids is not None and list(prompt_ids) != [int(i) for i in ids]:
        raise AnswerError(
            "scored other token IDs than those sent; it must accept a list of token IDs as the prompt and add nothing"
        )
    generated = _ids(choice.get("token_ids")) or _marked_ids(tokens[-1:])
    return Answer(tuple(numbers), tokens, prompt_ids, generated[0] if generated else None)


def echoed_numbers(value: Any, n: int) -> tuple[list[float | None], tuple[str, ...]]:
    """The numbers and spellings of n tokens, and of no matter how many generated after them; the numbers unchecked.

    Raises:
        AnswerError: there are fewer.
    """
    numbers, tokens = _numbers_and_tokens(only_choice(value))
    if len(numbers) < n:
        _check_length(len(numbers), n)
    return numbers[:n], tokens[:n]


def text_logprobs(answer: Answer) -> LogProbs:
    """Log-probabilities (T,) of the prompt's tokens in nats, NaN first.

    Raises:
        TextError: one is missing, not a number, infinite or positive.

    >>> text_logprobs(Answer((None, -1.5, -0.5), (), None, None))
    array([ nan, -1.5])
    """
    prompt = answer.logprobs[:-1]
    for position, number in enumerate(prompt[1:], start=2):
        fault = ""
        if number is None:
            fault = "got no log-probability (null, as some servers write NaN)"
        elif math.isnan(number):
            fault = "got NaN for a log-probability"
        elif number <= FLOOR:
            fault = f"got the probability 0 (a log-probability of {number:g})"
        elif number > ROUNDING:
            fault = f"got a positive log-probability ({number:g}), which is impossible"
        if fault:
            raise TextError(f"{fault} at token {position} of {len(prompt)}")
    # A certainty that rounding put above 0 is a certainty
    certain = (min(n, 0.0) for n in prompt[1:] if n is not None)
    return np.array([math.nan, *certain], dtype=np.float64)


def all_logprobs(answer: Answer) -> LogProbs:
    """Log-probabilities (n + 1,) of the prompt's tokens and the generated one, NaN first.

    Raises:
        AnswerError: one is missing, not a number, infinite or positive.
    """
    try:
        return text_logprobs(replace(answer, logprobs=(*answer.logprobs, 0.0)))
    except TextError as error:
        raise AnswerError(
            f"cannot score a simple sentence, which {error}; the values must be natural logarithms of probabilities (vLLM: "
            "--logprobs-mode raw_logprobs)"
        ) from error


def _numbers_and_tokens(
    choice: Mapping[str, Any],
) -> tuple[list[float | None], tuple[str, ...]]:
    logprobs = choice.get("logprobs")
    if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
        raise AnswerError(
            "ignored echo=true: it returned only log-probabilities of the generated tokens, as llama.cpp's own server does "
            "(llama-cpp-python returns those of the prompt)"
        )
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("token_logprobs"), list):
        raise AnswerError(
            "did not send log-probabilities; it must return choices[0].logprobs.token_logprobs for logprobs=1"
        )
    numbers: list[float | None] = []
    for number in logprobs["token_logprobs"]:
        if number is None:
            numbers.append(None)
            continue
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise AnswerError("sent token_logprobs that are not numbers")
        try:
            numbers.append(float(number))
        except OverflowError:
            numbers.append(math.inf if number > 0 else -math.inf)
    spelt = logprobs.get("tokens")
    if not isinstance(spelt, list) or len(spelt) != len(numbers):
        return numbers, ("",) * len(numbers)  # the server does not spell them
    return numbers, tuple(token if isinstance(token, str) else "" for token in spelt)


def only_choice(value: Any) -> dict[str, Any]:
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise AnswerError("sent JSON that is not a completion (one entry in `choices` is expected)")
    return choices[0]


def _check_length(got: int, sent: int) -> None:
    if got == sent + 1:
        return
    tokens = "1 token" if got == 1 else f"{got} tokens"
    if got <= 1:
        raise AnswerError(
            f"ignored echo=true: it returned log-probabilities for {tokens} instead of {sent} of the prompt and 1 "
            "generated; it must also return those of the prompt"
        )
    raise AnswerError(
        f"returned log-probabilities for {tokens} instead of {sent} of the prompt and 1 generated; it must score "
        "exactly the tokens that it receives"
    )


def _ids(ids: Any) -> tuple[int, ...] | None:
    if not isinstance(ids, list) or not ids:
        return None
    if not all(isinstance(i, int) and not isinstance(i, bool) for i in ids):
        return None
    return tuple(ids)


def _marked_ids(tokens: Sequence[str]) -> tuple[int, ...] | None:
    numbers = [token.removeprefix(ID_MARK) for token in tokens]
    if not tokens or not all(
        token.startswith(ID_MARK) and number.isascii() and number.isdigit() and len(number) < 12
        for token, number in zip(tokens, numbers, strict=True)
    ):
        return None
    return tuple(int(number) for number in numbers)


LARGEST_SHARE_MISSPELT = 0.1
SAMPLE_TOKENS = 64
UNREADABLE = "\ufffd"  # stands for half of a character


class Spelling:
    """Our tokenizer's ids by the ways in which servers spell them: as in the vocabulary, or as text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._by_text = defaultdict[str, list[int]](list)

    def candidates(self, answer: Answer) -> list[int]:
        """Ids that the generated token may have: the one the server names, else all that are spelt like it."""
        if answer.generated_id is not None:
            return [answer.generated_id]
        token = answer.tokens[-1]
        vocabulary = self._tokenizer.get_vocab()
        if not self._by_text:
            ids = sorted(vocabulary.values())
            for i, text in zip(ids, self._tokenizer.batch_decode([[i] for i in ids]), strict=True):
                self._by_text[text].append(i)
        found = [vocabulary[token]] if token in vocabulary else []
        return found + [i for i in self._by_text.get(token, []) if i not in found]

    def sample(self) -> list[int]:
        """Ids from all over the vocabulary; no special ones, which a server may have its own mind about."""
        special = {*self._tokenizer.all_special_ids, *self._tokenizer.get_added_vocab().values()}
        ids = sorted(set(self._tokenizer.get_vocab().values()) - special)
        return [ids[n * len(ids) // SAMPLE_TOKENS] for n in range(SAMPLE_TOKENS)] if ids else []

    def check(self, answers: Sequence[Answer], prompts: Sequence[Sequence[int]]) -> None:
        """Compare the echoed tokens with what our tokenizer makes of the ids that were sent.

        Raises:
            AnswerError: they are other tokens: the server's model has another tokenizer.
        """
        compared = 0
        wrong: list[tuple[int, str]] = []
        for answer, prompt in zip(answers, prompts, strict=True):
            compared += sum(map(_says_something, answer.tokens[: len(prompt)]))
            wrong += self.misspelt(prompt, answer.tokens)
        if len(wrong) > LARGEST_SHARE_MISSPELT * compared:
            token_id, token = wrong[0]
            ours = self._tokenizer.decode([token_id])
            raise AnswerError(
                f"has another tokenizer: it decodes token {token_id} as {token[:40]!r}, but the given tokenizer as {ours!r} "
                f"({len(wrong)} of {compared} tokens differ). Give the tokenizer of the served model"
            )

    def misspelt(self, ids: Sequence[int], tokens: Sequence[str]) -> list[tuple[int, str]]:
        """The ids, and the tokens in their places, that are not spelt alike."""
        found = []
        for token_id, token in zip(ids, tokens, strict=False):
            if not _says_something(token):
                continue
            raw = self._tokenizer.convert_ids_to_tokens(token_id)
            # Servers leave out the half of a character that ours marks as unreadable
            text = self._tokenizer.decode([token_id]).replace(UNREADABLE, "")
            # Some tokenizers drop a space before a word that stands alone
            if token != raw and token.strip() != text.strip():
                found.append((token_id, token))
        return found


def _says_something(token: str) -> bool:
    """Not nothing, half a character, or our own id."""
    return bool(token) and UNREADABLE not in token and not token.startswith(ID_MARK)
