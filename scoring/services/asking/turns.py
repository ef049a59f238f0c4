"""A model's words as a turn of the conversation that asks it again."""

from scoring.domain.generating import Message

NO_ANSWER = "(no answer)"
MOST_REPEATED = 2000  # characters of a text that was not what was asked for


def repeated(said: str, most: int | None = MOST_REPEATED) -> Message:
    """
    >>> repeated(" It is A. ").content, repeated("").content
    ('It is A.', '(no answer)')
    """
    return Message("assistant", said.strip()[:most] or NO_ANSWER)
