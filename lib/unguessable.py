"""Ids that nobody can guess."""

import secrets
import uuid


def unguessable_id() -> uuid.UUID:
    """128 random bits; a UUID of version 4 has 122, since 6 say which version it is.

    >>> unguessable_id() != unguessable_id()
    True
    """
    return uuid.UUID(bytes=secrets.token_bytes(16))
