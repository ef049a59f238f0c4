"""Where a model's server is, and whether texts may be sent there: SCORING_HOSTS. Opens no connection."""

import ipaddress
import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from scoring.domain.backend import ScoringError

DEFAULT_PORTS = {"http": 80, "https": 443}
VERSION_PATH = re.compile(r"/v\d+$")


@dataclass(frozen=True)
class Address:
    """A server's address in its parts; `path` ends in the API's version, as in `/v1`."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def is_here(self) -> bool:
        """Whether it is this machine: what is sent there goes to nobody else.

        >>> [parse_address(f"http://{host}:8000").is_here for host in ("localhost", "127.0.0.5", "[::1]", "gpu.lab", "10.0.0.1")]
        [True, True, True, False, False]
        """
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def origin(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    def __str__(self) -> str:
        return self.origin + self.path


def parse_address(base_url: str) -> Address:
    """Read an address with or without `/v1`, with or without `/completions` or `/chat/completions` after it.

    Raises:
        ScoringError: it is none, or holds a name and password (which a run would store and show).

    >>> str(parse_address("http://localhost:8000")), str(parse_address("https://gpu.lab/api/v1/completions"))
    ('http://localhost:8000/v1', 'https://gpu.lab/api/v1')
    >>> str(parse_address("https://gpu.lab/v1/chat/completions"))
    'https://gpu.lab/v1'
    >>> parse_address("http://[::1]:8000/v1/").host
    '::1'
    """
    if "@" in base_url:  # before all else: no message may repeat a password
        raise ScoringError(
            "base_url contains a user name or password, which would be stored with the run. Leave it out, and set "
            "SCORING_API_KEY in the environment if the server needs a key."
        )
    # Without spaces and control characters, which some readers of addresses skip and others do not
    shown = "".join(c for c in base_url if c.isprintable() and not c.isspace())
    if not base_url.isascii() or shown != base_url or "\\" in base_url:
        raise ScoringError(f"base_url={shown!r} is not an address: {_EXPECTED}.")
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ScoringError(f"base_url={shown!r} is not an address: {_EXPECTED}.") from error
    if parts.scheme not in DEFAULT_PORTS or not host or parts.query or parts.fragment or port == 0:
        raise ScoringError(f"base_url={shown!r} is not an address: {_EXPECTED}.")
    path = parts.path.rstrip("/")
    if path.endswith("/completions"):
        path = path.removesuffix("/completions").removesuffix("/chat").rstrip("/")
    if not VERSION_PATH.search(path):
        path += "/v1"
    return Address(parts.scheme, host.lower(), port or DEFAULT_PORTS[parts.scheme], path)


_EXPECTED = "expected http://HOST:PORT or https://HOST:PORT, with or without /v1"


def check_allowed(address: Address, allowed: Collection[str]) -> None:
    """Let only these hosts be spoken to: `name`, or `name:port` for that port alone.

    Raises:
        ScoringError: the host is not among them; the sentence names the setting.

    >>> check_allowed(parse_address("http://127.0.0.1:8000"), ["localhost", "127.0.0.1"])
    """
    host = f"[{address.host}]" if ":" in address.host else address.host
    spellings = {host, address.host, f"{host}:{address.port}"}
    if spellings.isdisjoint(name.strip().lower() for name in allowed):
        raise ScoringError(
            f"Texts may not be sent to {address.host}. Add it to the setting SCORING_HOSTS (now "
            f"{', '.join(allowed) or 'empty'})."
        )


HERE = "localhost,127.0.0.1,[::1]"


def allowed_address(base_url: str) -> Address:
    """Where a server is, if texts may be sent there.

    Raises:
        ScoringError: it is no address, or its host is not allowed.
    """
    from django.conf import ENVIRONMENT_VARIABLE, settings

    address = parse_address(base_url)
    if settings.configured or ENVIRONMENT_VARIABLE in os.environ:
        check_allowed(address, settings.SCORING_HOSTS)
    else:  # in a notebook
        named = os.environ.get("SCORING_HOSTS", HERE).split(",")
        check_allowed(address, [name for name in named if name])
    return address
