"""The judge that needs no model: an answer is right where it is the expert's, word for word. It shows that all is in place."""

import re
import unicodedata

from scoring.domain.grading.rubric import Rubric

NOT_KNOWING = (
    "i do not know", "i don t know", "i dont know", "i am not sure", "i cannot answer", "i can t answer",
    "i am unable to answer", "unknown", "not known",
)  # fmt: skip
_NO_WORD = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """Words alone: compatibility forms, case, punctuation and white space make no difference.

    >>> normalised("  The “GBA1” gene.\\n")
    'the gba1 gene'
    """
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def is_abstention(text: str) -> bool:
    """Whether an answer begins by saying that its writer does not know.

    >>> is_abstention("I don't know."), is_abstention("Unknownase")
    (True, False)
    """
    return f"{normalised(text)} ".startswith(tuple(f"{words} " for words in NOT_KNOWING))


def exact_points(answer: str, expert_answer: str, rubric: Rubric) -> float:
    """The most points for the expert's words, the rubric's number for an abstention, else 0.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> [exact_points(answer, "LRRK2.", BIOSCORE) for answer in ("lrrk2", "I do not know", "GBA1")]
    [3.0, -1.0, 0.0]
    """
    if normalised(answer) == normalised(expert_answer):
        return rubric.top
    if rubric.abstention is not None and is_abstention(answer):
        return rubric.abstention
    return 0.0
