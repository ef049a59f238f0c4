"""How long a statement waits for somebody else's lock."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

BRIEFLY = "1s"


@contextmanager
def waiting_briefly() -> Iterator[None]:
    """A transaction for who has waited in vain before; SQLite has one lock and one time limit for all."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = '{BRIEFLY}'")
        yield
