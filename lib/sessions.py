"""Sessions in the database under a digest of their key: a reader of the table cannot use a row as a cookie.

`SESSION_ENGINE` names this module. The key itself is only in the browser's cookie.
"""

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.utils import timezone

LENGTH = 40  # of the table's column; a key has 32 characters, so no stored digest is one


def stored(key: str | None) -> str:
    """The name of this key's session in the table; no slow digest is needed, since keys have 165 random bits.

    >>> stored("b" * 32)
    'bdb339768bc5e4fecbe55a442056919b2b325907'
    """
    return hashlib.sha256((key or "").encode()).hexdigest()[:LENGTH]


class SessionStore(DatabaseSessionStore):
    """Django's, which salts what it stores by the name of this class: rows of earlier releases stay readable.

    The site has no asynchronous views, so the methods for these are as they were.
    """

    def _get_session_from_db(self) -> AbstractBaseSession | None:
        row = self.model.objects.filter(
            session_key=stored(self.session_key), expire_date__gt=timezone.now()
        ).first()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(stored(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = stored(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            super().delete(stored(key))
