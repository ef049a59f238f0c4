"""Where gunicorn listens, and who may reach it there: read from the environment, without Django."""

import re
from ipaddress import ip_address, ip_network

from config.env import Env, EnvError

_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")
_SOCKET = re.compile(r"unix:/.+|fd://[0-9]+")


def listening_address(env: Env) -> str:
    """Return what gunicorn binds to: `BIND`, or `PORT` of this machine alone.

    Refuses an address that other machines reach in plain HTTP. ALLOW_EXPOSED=1 says that this is meant: for a network
    that is private by other means.
    """
    port = env.integer("PORT", 8000, minimum=1, maximum=65535)
    address = env.text("BIND", f"127.0.0.1:{port}")
    proxies = _proxies(env)
    if is_reached_from_here_alone(address) or env.flag("ALLOW_EXPOSED", False):
        return address
    if not (env.flag("HTTPS", False) and proxies):
        raise EnvError(
            "BIND",
            address,
            "127.0.0.1 or a unix: socket, with a proxy on this machine that ends TLS; or, if the proxy is on another "
            "machine, HTTPS=1 and its address in FORWARDED_ALLOW_IPS (ALLOW_EXPOSED=1 serves plain HTTP to everybody who "
            "can reach it)",
        )
    return address


def is_reached_from_here_alone(address: str) -> bool:
    """True if no other machine can connect to what listens there.

    >>> [is_reached_from_here_alone(a) for a in ("127.0.0.1:80", "[::1]:80", "unix:/run/site", "0.0.0.0:80", "lab.org:80")]
    [True, True, True, False, False]
    """
    if _SOCKET.fullmatch(address):
        return True
    found = _HOST_AND_PORT.fullmatch(address)
    if not found or not 1 <= int(found[2]) <= 65535:
        raise EnvError(
            "BIND", address, "host:port such as 127.0.0.1:8000, [::1]:8000 or unix:/run/site.sock"
        )
    host = found[1].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        if ":" in host or re.fullmatch(r"[0-9.]+", host):
            raise EnvError(
                "BIND", address, "a valid IP address or host name before the colon"
            ) from None
        return host == "localhost"


def _proxies(env: Env) -> list[str]:
    """The proxies whose X-Forwarded-Proto gunicorn believes; it reads the variable by itself."""
    names = env.names("FORWARDED_ALLOW_IPS", [])
    try:
        for name in names:
            if name != "*":
                ip_network(name)
    except ValueError as error:
        raise EnvError(
            "FORWARDED_ALLOW_IPS",
            ",".join(names),
            "addresses or networks such as 10.0.0.5,10.1.0.0/24, or *",
        ) from error
    return names
