"""Texts that the database keeps sealed under a key of the settings, and that the site opens again by itself, such as other sites' keys.

Fernet (of cryptography) authenticates what it encrypts, so that a wrong key is told from a right one. Its own key is derived
with HKDF for one purpose: what is sealed for another cannot be opened in its place.
"""

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


class WrongKeyError(Exception):
    """Another key, or another purpose, sealed this."""


def seal(text: str, key: str, purpose: str) -> str:
    """The text as only this key opens it, for this purpose; another one each time."""
    return _fernet(key, purpose).encrypt(text.encode()).decode()


def unseal(sealed: str, key: str, purpose: str) -> str:
    """The text that was sealed so.

    Raises:
        WrongKeyError: this key did not seal it.

    >>> unseal(seal("secret", "a key", "a purpose"), "a key", "a purpose")
    'secret'
    """
    try:
        return _fernet(key, purpose).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise WrongKeyError from error


def _fernet(key: str, purpose: str) -> Fernet:
    derived = HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
