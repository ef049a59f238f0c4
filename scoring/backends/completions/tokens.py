"""Compares tokens as a server spells them with those of our tokenizer. Knows nothing of HTTP."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from scoring.backends.completions.answers import ID_MARK, Answer, AnswerError

LARGEST_SHARE_MISSPELT = 0.1
SAMPLE_TOKENS = 64
UNREADABLE = "\ufffd"  # stands for half of a character


class Spelling:
    """Our tokenizer's ids by the ways in which servers spell them: as in the vocabulary, or as text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._by_text: dict[str, list[int]] = {}

    def candidates(self, answer: Answer) -> list[int]:
        """Ids that the generated token may have: the one the server names, else all that are spelt like it."""
        if answer.generated_id is not None:
            return [answer.generated_id]
        token = answer.tokens[-1]
        vocabulary = self._tokenizer.get_vocab()
        found = [vocabulary[token]] if token in vocabulary else []
        return found + [i for i in self._texts().get(token, []) if i not in found]

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
                f"has another tokenizer: it reads token {token_id} as {token[:40]!r}, the tokenizer given as {ours!r} "
                f"({len(wrong)} of {compared} tokens differ); give the tokenizer of the model that is served"
            )

    def misspelt(self, ids: Sequence[int], tokens: Sequence[str]) -> list[tuple[int, str]]:
        """The ids, and the tokens in their places, that are not spelt alike."""
        return [
            (token_id, token)
            for token_id, token in zip(ids, tokens, strict=False)
            if _says_something(token) and not self._is_spelt(token_id, token)
        ]

    def _is_spelt(self, token_id: int, token: str) -> bool:
        raw = self._tokenizer.convert_ids_to_tokens(token_id)
        # Servers leave out the half of a character that ours marks as unreadable
        text = self._tokenizer.decode([token_id]).replace(UNREADABLE, "")
        # Some tokenizers drop a space before a word that stands alone
        return bool(token == raw or token.strip() == text.strip())

    def _texts(self) -> dict[str, list[int]]:
        if not self._by_text:
            by_text = defaultdict(list)
            ids = sorted(self._tokenizer.get_vocab().values())
            for i, text in zip(ids, self._tokenizer.batch_decode([[i] for i in ids]), strict=True):
                by_text[text].append(i)
            self._by_text = dict(by_text)
        return self._by_text


def _says_something(token: str) -> bool:
    """Not nothing, half a character, or our own id."""
    return bool(token) and UNREADABLE not in token and not token.startswith(ID_MARK)
