"""A participant's own code: theirs to keep, shown on their pages, and for nobody else to read.

The database holds a keyed digest, to find a participant by their code, and the code sealed with the same key, to show it to
the participant again. Without the key, which is not in the database, neither says anything about the code.
"""

import hashlib
import hmac
import secrets

# Without letters and digits that are mistaken for one another when copied by hand.
ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
LENGTH = 12  # 59 bits: hard to guess, easy to copy


def new_code() -> str:
    return grouped("".join(secrets.choice(ALPHABET) for _ in range(LENGTH)))


def grouped(text: str) -> str:
    """A code as it is shown, from one as people type it: any case, with or without the dashes and spaces.

    >>> grouped(" abcd efgh-2345")
    'ABCD-EFGH-2345'
    """
    plain = "".join(char for char in text.upper() if char.isalnum())
    return "-".join(plain[i : i + 4] for i in range(0, len(plain), 4))


def digest(code: str, key: str) -> str:
    """HMAC-SHA-256 (hex) of the code: equal for equal codes, and of no use without the key."""
    return hmac.digest(key.encode(), f"digest {grouped(code)}".encode(), "sha256").hex()


def seal(code: str, key: str, owner: str) -> str:
    """The code with each character moved on by a number that only key and owner give; 12 characters."""
    return _move(grouped(code).replace("-", ""), key, owner, 1)


def unseal(sealed: str, key: str, owner: str) -> str:
    """The text that was sealed so.

    >>> unseal(seal("ABCD-EFGH-2345", "a key", "somebody"), "a key", "somebody")
    'ABCD-EFGH-2345'
    """
    return grouped(_move(sealed, key, owner, -1))


def _move(text: str, key: str, owner: str, sign: int) -> str:
    """A one-time pad over the alphabet; `owner` must be another for each code."""
    stream = hmac.digest(key.encode(), f"seal {owner}".encode(), hashlib.sha256)
    number, n = int.from_bytes(stream), len(ALPHABET)
    moved = []
    for char in text:
        number, step = divmod(number, n)
        moved.append(ALPHABET[(ALPHABET.index(char) + sign * step) % n])
    return "".join(moved)
