"""What a place in a text is about: the content words around it, in its sentence. Pure."""

from bisect import bisect_left, bisect_right

from experiment.domain.item_checks.words import content_words
from lib.sentences import sentence_spans

# Content words before a place, and as many after it
WIDTH = 4


class Context:
    """
    >>> sorted(Context("We slept. Old rats slept well. Mice ran.").around(19, 24))
    ['old', 'rats']
    """

    def __init__(self, text: str) -> None:
        self._words = list(content_words(text))
        self._sentences = sentence_spans(text)

    def around(self, start: int, end: int) -> set[str]:
        """Stems of the content words on both sides of a stretch, as far as its sentence goes."""
        first = max((low for low, _ in self._sentences if low <= start), default=0)
        last = min((high for _, high in self._sentences if high >= end), default=end)
        before = bisect_right(self._words, start, key=lambda word: word.end)
        after = bisect_left(self._words, end, key=lambda word: word.start)
        near = self._words[max(0, before - WIDTH) : before] + self._words[after : after + WIDTH]
        return {word.stem for word in near if first <= word.start < last}
