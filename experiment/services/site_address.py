"""The address with which the site's links begin: who can open it, and what to set if others cannot."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import validate_host

# Names that no server outside answers for
INNER_NAMES = ("local", "lan", "internal", "intranet", "home", "corp", "arpa", "test")
WHAT_TO_SET = (
    "Set BASE_URL to an https:// address under which everybody finds this site, with its host in ALLOWED_HOSTS (“Settings” in "
    "docs/operations.md). If all participants sit in one room, at computers that can open the present address, set ONE_ROOM=1."
)


def is_served() -> bool:
    """True if the site answers under the host of its own links."""
    host = urlsplit(settings.BASE_URL).hostname or ""
    named = f"[{host}]" if ":" in host else host
    return settings.DEBUG or validate_host(named, settings.ALLOWED_HOSTS)


def address_fault() -> str:
    """Why people elsewhere cannot open the site's links, without a full stop; empty where they can, or where the site is for one room."""
    address = settings.BASE_URL
    url = urlsplit(address)
    host = (url.hostname or "").rstrip(".")
    links = f"nobody else can open the links of this site, which begin with {address}"
    if not is_served():
        return f"{links}: this site refuses requests for {host}, which ALLOWED_HOSTS does not name"
    if settings.ONE_ROOM:
        return ""
    if _is_own(host):
        return f"{links}: every computer takes this for an address of its own"
    if _is_inner(host):
        return f"{links}: this is an address of a private network"
    if url.scheme != "https":
        return f"the links of this site begin with {address}, without https: browsers warn of it, recruitment sites refuse it, and others on the way can read answers"
    return ""


def address_told() -> str:
    """The same in whole sentences, with what to set, for pages that give out links."""
    fault = address_fault()
    return f"At present, {fault}. {WHAT_TO_SET}" if fault else ""


def _is_own(host: str) -> bool:
    """True of the names and addresses of the machine itself.

    >>> [_is_own(host) for host in ("localhost", "127.0.1.1", "::1", "0.0.0.0", "10.0.0.7", "lab.example.org")]
    [True, True, True, True, False, False]
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _is_inner(host: str) -> bool:
    """True of what is known inside a network alone.

    >>> [_is_inner(host) for host in ("10.0.0.7", "fd00::7", "labserver", "lab.local", "141.2.3.4", "lab.example.org")]
    [True, True, True, True, False, False]
    """
    try:
        return not ip_address(host).is_global
    except ValueError:
        return "." not in host or host.rpartition(".")[2] in INNER_NAMES
