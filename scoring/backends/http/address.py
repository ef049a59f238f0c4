"""Where a model's server is, whether texts may be sent there, and with which key.

Settings say it (SCORING_HOSTS and SCORING_API_KEYS), and the site's list of servers (LISTED). Opens no connection.
"""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from scoring.backends.http import KEYS_VARIABLE
from scoring.domain.backend import ScoringError

DEFAULT_PORTS = {"http": 80, "https": 443}
VERSION_PATH = re.compile(r"/v\d+\Z", re.ASCII)


@dataclass(frozen=True)
class Address:
    """A server's address in its parts; `path` ends in the API's version, as in `/v1`.

    listed: what the site's list said when the address was allowed. Requests are made in threads that read no database.
    """

    scheme: str
    host: str
    port: int
    path: str
    listed: "Listed | None" = field(default=None, repr=False, compare=False)

    @property
    def is_here(self) -> bool:
        """True if it is this machine: what is sent there goes to nobody else.

        >>> [parse_address(f"http://{host}:8000").is_here for host in ("localhost", "127.0.0.5", "[::1]", "gpu.lab", "10.0.0.1")]
        [True, True, True, False, False]
        """
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def bracketed(self) -> str:
        """The host as addresses and settings have it."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def place(self) -> str:
        """The host and port that a key belongs to.

        >>> parse_address("https://gpu.lab/v1").place
        'gpu.lab:443'
        """
        return f"{self.bracketed}:{self.port}"

    @property
    def origin(self) -> str:
        port = "" if self.port == DEFAULT_PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self.bracketed}{port}"

    def __str__(self) -> str:
        return self.origin + self.path


@dataclass(frozen=True)
class Listed:
    """A server of the site's list, by its host and port or as a provider, and its key; empty where it has none."""

    place: str
    key: str = field(default="", repr=False)


# Functions that find a server of the site's list by its place. The app adds one: backends know no database
LISTED: list[Callable[[str], Listed | None]] = []


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
            "base_url contains a user name or password, which would be stored with the run. Leave it out. If the server needs "
            "a key, a site administrator can add it on the page Model servers, or set SCORING_API_KEYS in the environment."
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
    # In small letters, and an IPv6 address in its shortest form: as the settings have it
    host = host.lower()
    with suppress(ValueError):
        host = str(ip_address(host))
    return Address(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], path)


_EXPECTED = "expected http://HOST:PORT or https://HOST:PORT, with or without /v1"


# Where servers of models listen unless they are told otherwise: vLLM and llama-cpp-python, llama.cpp, Ollama, SGLang
USUAL_PORTS = frozenset({8000, 8080, 11434, 30000})
# In a notebook, whose writer may ask anything of this machine
HERE = ("localhost:*", "127.0.0.1:*", "[::1]:*")


class NotAllowedError(ScoringError):
    """Texts may not be sent to the server that a request names."""


def check_allowed(address: Address, allowed: Collection[str]) -> None:
    """Let only these servers be spoken to: `name` for the scheme's own port and USUAL_PORTS, `name:port`, `name:*`.

    Raises:
        NotAllowedError: it is not among them; the sentence names the page and the setting.

    >>> check_allowed(parse_address("http://127.0.0.1:8000"), ["localhost", "127.0.0.1"])
    """
    if _is_named(address, allowed):
        return
    host = address.bracketed
    known = any(place == host or place.startswith(f"{host}:") for place in allowed)
    where = f"port {address.port} of {address.host}" if known else address.host
    raise NotAllowedError(
        f"Texts may not be sent to {where}. Add {address.place} on the page Model servers, or to the setting SCORING_HOSTS "
        f"(now {', '.join(allowed) or 'empty'})."
    )


def check_peer(address: Address, peer: str, allowed: Collection[str]) -> None:
    """Let no name lead where its server could not be meant: to this machine, or to an address of the local link (clouds
    have their machines' secrets at 169.254.169.254), unless that is allowed by its own name.

    Raises:
        ScoringError: it leads there.
    """
    try:
        ip_address(address.host)
    except ValueError:
        is_name = address.host != "localhost"
    else:
        is_name = False
    found = ip_address(peer.partition("%")[0])
    found = getattr(found, "ipv4_mapped", None) or found
    leads_inside = found.is_loopback or found.is_link_local or found.is_unspecified
    if is_name and leads_inside and not _is_named(replace(address, host=str(found)), allowed):
        raise ScoringError(
            f"{address.host} leads to {found}, an address of this machine or its local link, to which texts may not be sent. "
            "If this is intended, add that address to the setting SCORING_HOSTS."
        )


def _is_named(address: Address, allowed: Collection[str]) -> bool:
    host, port = address.bracketed, address.port
    names = {f"{host}:*", f"{host}:{port}"}
    if port in USUAL_PORTS or port == DEFAULT_PORTS[address.scheme]:
        names.add(host)
    return not names.isdisjoint(allowed)


def allowed_address(base_url: str) -> Address:
    """Where a server is, if texts may be sent there; with what the site's list says of it now.

    Raises:
        ScoringError: it is no address, or its host or port is not allowed.
    """
    address = parse_address(base_url)
    address = replace(address, listed=_find_listed(address.place))
    if address.listed is None:
        check_allowed(address, allowed_servers())
    return address


def _find_listed(place: str) -> Listed | None:
    return next((listed for find in LISTED if (listed := find(place))), None)


def allowed_servers(address: Address | None = None) -> Sequence[str]:
    """The setting SCORING_HOSTS; and this address, if it is on the site's list."""
    servers: Sequence[str] = _setting(
        "SCORING_HOSTS", lambda env: env.servers("SCORING_HOSTS", list(HERE))
    )
    if address is None or address.listed is None:
        return servers
    return [*servers, address.listed.place]


def provider_place(provider: str) -> str:
    """A provider whose address its own library knows, as settings and the site's list name it."""
    return f"inspect:{provider}"


def allowed_provider(provider: str) -> Listed | None:
    """The row of the site's list for this provider, if texts may be sent there; None where only the setting names it.

    Raises:
        ScoringError: neither names it.
    """
    place = provider_place(provider)
    found = _find_listed(place)
    allowed = allowed_servers()
    if found is None and place not in allowed:
        raise ScoringError(
            f"Texts may not be sent to the provider {provider}. A site administrator can add it on the page Model servers, or add "
            f"{place} to the setting SCORING_HOSTS (now {', '.join(allowed) or 'empty'})."
        )
    return found


def inspect_python() -> str:
    """The setting INSPECT_PYTHON."""
    return str(_setting("INSPECT_PYTHON", lambda env: env.text("INSPECT_PYTHON", "")))


def key_of(address: Address) -> str:
    """The key that belongs to this server, by the site's list or else by SCORING_API_KEYS: to its port or, at the scheme's
    own port, to its host; empty where there is none.

    Else whoever opens another port of the host, or names one, would be given the key.

    Raises:
        ScoringError: others could read it on its way.
    """
    keys: Mapping[str, str] = _setting(
        KEYS_VARIABLE,
        lambda env: env.server_keys(KEYS_VARIABLE, "SCORING_API_KEY", allowed_servers()),
    )
    host, listed = address.bracketed, address.listed
    of_host = keys.get(host, "") if address.port == DEFAULT_PORTS[address.scheme] else ""
    own = listed.key if listed and listed.place == address.place else ""
    key = own or keys.get(address.place) or of_host
    if key and address.scheme == "http" and not address.is_here:
        raise ScoringError(
            f"The key of {address.host} would be sent to {address.origin} unencrypted. Write https:// in base_url, or reach the "
            "server through an encrypted tunnel and give the tunnel's address."
        )
    return key


def _setting(name: str, read: Callable[[Any], Any]) -> Any:
    from django.conf import ENVIRONMENT_VARIABLE, settings

    if settings.configured or ENVIRONMENT_VARIABLE in os.environ:
        return getattr(settings, name)
    # In a notebook. By its name, as settings name apps: apps know no settings
    try:
        return read(import_module("config.env").Env(os.environ))
    except ValueError as error:
        raise ScoringError(str(error)) from error
