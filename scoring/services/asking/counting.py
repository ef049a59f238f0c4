"""Tokens of a run's questions, counted before it starts by who bills them: the server, on some of them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from scoring.backends.opening import open_generator
from scoring.backends.registry import Place, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Usage
from scoring.services.asking.engine import Question

N_ASKED = 5
# Somebody waits for it: a server that fails is not asked for long
SOON = {"timeout": "60", "retry_seconds": "60", "tries": "2", "concurrency": str(N_ASKED)}


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens, and the seconds, of so many questions together."""

    n: int
    usage: Usage
    seconds: float = 0.0

    def of(self, n: int) -> Usage | None:
        """The tokens that so many will take; None where none is known.

        >>> Counted(5, Usage(500, 52)).of(1000)
        Usage(prompt_tokens=100000, completion_tokens=10400, thought_tokens=0)
        """
        if not self.n:
            return None
        read, written = self.usage.prompt_tokens * n, self.usage.completion_tokens * n
        return Usage(round(read / self.n), round(written / self.n))


def count_by_asking(
    kind: str,
    args: Mapping[str, str],
    questions: Sequence[Question],
    following: Callable[[Question, str], Question | None],
) -> Counted:
    """The tokens of these, by the usage that the server reports. Their answers are not kept.

    Args:
        following: the question that comes after a whole answer, whose tokens count with it.
    Raises:
        ScoringError: the model cannot be asked, or does not report what it took.
    """
    generator = open_generator(kind, {**args, **(SOON if place_of(kind) == Place.SERVER else {})})

    def exchange(question: Question) -> list[Generated]:
        answer = generator.generate(question.messages, question.schema)
        second = following(question, answer.text) if answer.finish == Finish.STOP else None
        if second is None:
            return [answer]
        return [answer, generator.generate(second.messages, second.schema)]

    try:
        with ThreadPoolExecutor(min(generator.concurrency, len(questions))) as threads:
            exchanges = list(threads.map(exchange, questions))
    finally:
        generator.close()
    usage, seconds, n = Usage(), 0.0, 0
    for answers in exchanges:
        known = [answer.usage for answer in answers if answer.usage is not None]
        if len(known) == len(answers):
            n, usage = n + 1, sum(known, usage)
            seconds += sum(answer.seconds for answer in answers)
    if not n:
        raise ScoringError("The server does not report how many tokens it read and wrote.")
    return Counted(n, usage, seconds)
