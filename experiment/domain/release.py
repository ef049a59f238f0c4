"""What a public file may say about participants: no combination of what it says fits fewer than k of them. Pure.

Ages and years of experience are put in bands; then, for those who are too few to be like one another, one answer after
the other is left out, beginning with what tells most. What is left out reads `suppressed`. The aim is k-anonymity
(L. Sweeney, International Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10, 557-570, 2002).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# In the order in which they are given up
QUASI_IDENTIFIERS = ("country", "experience_years", "position_held", "age", "gender")
# Exact moments, sizes of windows and names elsewhere tell one person from all others: a release has no such columns
DROPPED = (
    "recruitment_source",
    "published_id",
    "consented_at",
    "started_at",
    "shown_at",
    "received_at",
    "finished_at",
    "viewport_width",
    "viewport_height",
    "seed",
)
# Neither has it these, which may: unless somebody has read them, and says so
WORDS = ("answer_text",)
SUPPRESSED = "suppressed"
Answers = tuple[str | None, ...]  # in the order above
AGES = (18, 25, 35, 45, 55, 65)
YEARS = (0, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Released:
    """What may be said of each participant, and of how many each answer was left out."""

    answers: Mapping[str, Answers]
    suppressed: Mapping[str, int] = field(default_factory=dict)


def release(people: Mapping[str, Answers], k: int) -> Released:
    """Answers so coarse that each combination of them fits at least k people, or is wholly suppressed.

    >>> alike = {str(n): ("GB", "3", "faculty", "31", "female") for n in range(5)}
    >>> released = release(alike | {"5": ("FR", "3", "faculty", "31", "male")}, k=5)
    >>> released.answers["0"]
    ('suppressed', 'suppressed', 'suppressed', 'suppressed', 'suppressed')
    >>> release(alike, k=5).answers["0"]
    ('GB', '0-4', 'faculty', '25-34', 'female')
    """
    answers = {name: _banded(own) for name, own in people.items()}
    for place in range(len(QUASI_IDENTIFIERS)):
        for name in _few(answers, k):
            answers[name] = _without(answers[name], place)
    # Who is left with nothing must not be few either: the smallest groups join them
    nothing = (SUPPRESSED,) * len(QUASI_IDENTIFIERS)
    sizes = Counter(answers.values())
    while 0 < sizes[nothing] < k and len(sizes) > 1:
        joining = min((n, str(said), said) for said, n in sizes.items() if said != nothing)[2]
        answers = {name: nothing if own == joining else own for name, own in answers.items()}
        sizes = Counter(answers.values())
    n_suppressed = {
        name: sum(own[place] == SUPPRESSED for own in answers.values())
        for place, name in enumerate(QUASI_IDENTIFIERS)
    }
    return Released(answers, n_suppressed)


def left_out(words: bool) -> tuple[str, ...]:
    """The columns that a release does not have; with participants' own words, or without.

    >>> len(left_out(words=False)) - len(left_out(words=True))
    1
    """
    return DROPPED if words else (*DROPPED, *WORDS)


def _few(answers: Mapping[str, Answers], k: int) -> list[str]:
    """Those whose combination fewer than k share."""
    sizes = Counter(answers.values())
    return [name for name, own in answers.items() if sizes[own] < k]


def _without(answers: Answers, place: int) -> Answers:
    return (*answers[:place], SUPPRESSED, *answers[place + 1 :])


def _banded(answers: Answers) -> Answers:
    return tuple(
        BANDED.get(name, str)(answer) if answer else answer
        for name, answer in zip(QUASI_IDENTIFIERS, answers, strict=True)
    )


def band(answer: str, starts: tuple[int, ...]) -> str:
    """The band that a number falls in; other answers stay, but for numbers below all bands.

    >>> band("31", AGES), band("70", AGES), band("4.5", YEARS), band("prefer_not_to_say", AGES), band("3", AGES)
    ('25-34', '65+', '0-4', 'prefer_not_to_say', 'suppressed')
    """
    try:
        number = float(answer)
    except ValueError:
        return answer
    reached = [start for start in starts if start <= number]
    if not reached:  # also of what is no number, as "nan"
        return SUPPRESSED
    later = starts[len(reached) :]
    return f"{reached[-1]}-{later[0] - 1}" if later else f"{reached[-1]}+"


BANDED: Mapping[str, Callable[[str], str]] = {
    "age": lambda answer: band(answer, AGES),
    "experience_years": lambda answer: band(answer, YEARS),
}
