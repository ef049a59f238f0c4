"""How passwords are stored."""

from django.contrib.auth import hashers


class Argon2PasswordHasher(hashers.Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes and one thread, the least that OWASP's Password Storage Cheat Sheet asks for.

    Django's eight threads and 100 MiB for each comparison take both cores of a small server away from participants.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1
