"""Typed readers of the environment: every setting of the site comes through here.

This module knows nothing about Django. A value that cannot be used raises `EnvError`, whose one sentence
names the variable, the value and what was expected; a password inside a URL is never repeated.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from config.files import EnvError as EnvError
from config.files import check_secret, check_writable, file_secret, make_folder

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_POSTGRES_SCHEMES = frozenset({"postgres", "postgresql"})
_BROKER = re.compile(r"[a-z][a-z0-9+.-]*://")
_HOST = re.compile(r"\*|\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]")
# A server to which texts may be sent: its name or address, and what stands for its ports
_SERVER = re.compile(
    r"(?P<host>[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(:(?P<port>\*|[1-9][0-9]{0,4}))?"
)
_PROVIDER = re.compile(r"inspect:[a-z0-9-]+(/[a-z0-9_-]+)?")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_DATABASE_FORMS = "sqlite:////absolute/path.db or postgres://user:password@host:port/name"


class Env:
    """Reads settings out of `values`, a mapping like `os.environ`. Empty counts as not set.

    >>> env = Env({"PORT": "8000", "DEBUG": "yes", "HOSTS": "a.org, b.org"})
    >>> env.integer("PORT", 1), env.flag("DEBUG", False), env.names("HOSTS", []), env.text("NAME", "x")
    (8000, True, ['a.org', 'b.org'], 'x')
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def text(self, name: str, default: str) -> str:
        """Return the text of `name` without surrounding spaces, or `default`."""
        return self.values.get(name, "").strip() or default

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        """Return the text of `name`, which must be one of `choices`."""
        value = self.text(name, default)
        if value not in choices:
            raise EnvError(name, value, "one of " + ", ".join(choices))
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return True for 1, true, yes, on and False for 0, false, no, off, in any case."""
        value = self.text(name, "")
        if not value:
            return default
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
        raise EnvError(name, value, "1, true, yes, on or 0, false, no, off")

    def integer(
        self, name: str, default: int, *, minimum: int = 0, maximum: int | None = None
    ) -> int:
        """Return the whole number in `name`, from `minimum` to `maximum`."""
        value = self.text(name, "")
        if not value:
            return default
        limits = f"a whole number from {minimum}" + ("" if maximum is None else f" to {maximum}")
        if not value.isascii() or not value.removeprefix("-").isdigit():
            raise EnvError(name, value, limits)
        number = int(value)
        if number < minimum or (maximum is not None and number > maximum):
            raise EnvError(name, value, limits)
        return number

    def database_limits(self) -> tuple[int, int]:
        """Return the seconds to wait for a lock, and for a statement; 0 is for ever.

        Pages give up and are asked for again, commands and workers wait. config/gunicorn.py says which process serves pages.
        """
        lock_s, statement_s = (5, 30) if self.flag("SERVES_PAGES", False) else (0, 0)
        return (
            self.integer("DATABASE_LOCK_SECONDS", lock_s),
            self.integer("DATABASE_STATEMENT_SECONDS", statement_s),
        )

    def threads(self) -> int:
        """Return how many requests a web process works on at once."""
        return self.integer("THREADS", 16, minimum=1, maximum=256)

    def most_transactions(self) -> int:
        """Return how many of them may be within a transaction, one in eight being spared; 0 where no pages are served: any."""
        return self.threads() - self.threads() // 8 if self.flag("SERVES_PAGES", False) else 0

    def names(self, name: str, default: list[str], *, choices: tuple[str, ...] = ()) -> list[str]:
        """Return the comma-separated parts of `name`, each without surrounding spaces; of `choices`, if there are any."""
        value = self.text(name, "")
        parts = [part for part in (part.strip() for part in value.split(",")) if part]
        if choices and not set(parts) <= set(choices):
            raise EnvError(name, value, f"names among {', '.join(choices)}, separated by commas")
        return parts if value else list(default)

    def secret(self, name: str, path: Path) -> str:
        """Return the secret in `name`, or else the one in the file `path`, which is made once."""
        value = self.text(name, "")
        if value:
            check_secret(
                name, value, ". If you leave the variable out, the site creates a key in VAR_DIR"
            )
        return value or file_secret(path)

    def token(self, name: str) -> str:
        """Return what programs have to send, too long to be guessed; empty if it is not set."""
        value = self.text(name, "")
        if value and not re.fullmatch(r"[\x21-\x7e]{32,}", value):
            raise EnvError(name, "***", "at least 32 characters of ASCII without spaces")
        return value

    def url(self, name: str, default: str) -> str:
        """Return an http or https address without the slash at its end."""
        value = self.text(name, default)
        _check_web_address(name, value)
        return value.rstrip("/")

    def broker(self, name: str, default: str) -> str:
        """Return the address of a message broker, of whatever kind."""
        value = self.text(name, default)
        if not _BROKER.match(value):
            raise EnvError(
                name, hide_password(value), "an address such as redis://127.0.0.1:6379/0"
            )
        return value

    def origins(self, name: str) -> list[str]:
        """Return comma-separated origins such as https://lab.example.org: no path, no spaces."""
        origins = self.names(name, [])
        for origin in origins:
            parts = _check_web_address(name, origin)
            if parts.path or parts.query or parts.fragment:
                raise EnvError(name, origin, "only a scheme and a host: https://lab.example.org")
        return origins

    def hosts(self, name: str, default: list[str]) -> list[str]:
        """Return comma-separated names of hosts, as browsers send them without the port: lab.example.org, .example.org, *."""
        hosts = self.names(name, default)
        for host in hosts:
            if not _HOST.fullmatch(host):
                raise EnvError(
                    name, host, "only a host name such as lab.example.org, without scheme and port"
                )
        return hosts

    def servers(self, name: str, default: list[str]) -> list[str]:
        """Return comma-separated servers in small letters: gpu.example.org, 127.0.0.1:8000, [::1], gpu.example.org:*.

        `inspect:NAME` is a provider, whose address its own library knows.

        >>> Env({"HOSTS": "GPU.lab:8000, ::1"}).servers("HOSTS", [])
        ['gpu.lab:8000', '[::1]']
        """
        servers = [_bracketed(server.lower()) for server in self.names(name, default)]
        for server in servers:
            if _PROVIDER.fullmatch(server):
                continue
            found = _SERVER.fullmatch(server)
            port = found["port"] if found else ""
            if not found or (port not in (None, "*") and int(port) > 65535):
                raise EnvError(
                    name, hide_password(server), f"{_SERVER_FORMS}, without scheme and path"
                )
        return servers

    def server_keys(self, name: str, single: str, servers: Sequence[str]) -> dict[str, str]:
        """Return the key of each server in `name`, HOST=KEY or HOST:PORT=KEY with commas between; no message repeats one.

        A key of HOST is for the port of https alone, where its provider is; of this machine, where anybody may listen at
        another port, the port must be named. The key of no host in `single` is that of the one server that is not this machine or,
        where all of them are this machine, of the one port.

        >>> Env({"KEYS": "a.org=k1, b.org:8000=k2"}).server_keys("KEYS", "KEY", ["a.org", "b.org"])
        {'a.org': 'k1', 'b.org:8000': 'k2'}
        >>> Env({"KEY": "k"}).server_keys("KEYS", "KEY", ["localhost", "a.org:8443"])
        {'a.org:8443': 'k'}
        """
        alone = self.text(single, "")
        servers = [one for one in servers if not _PROVIDER.fullmatch(one)]
        if not alone:
            return self._named_keys(name, {_host_of(server) for server in servers})
        _check_key(single, alone)
        if self.text(name, ""):
            raise EnvError(
                single, "***", f"only one of {single} and {name}: write all keys in {name}"
            )
        elsewhere = [one for one in servers if not _is_this_machine(_host_of(one))]
        if len(elsewhere) > 1:
            raise EnvError(
                single,
                "***",
                f"{name}=HOST=KEY,HOST=KEY instead, because each key belongs to one server, and texts may be sent to "
                f"{len(elsewhere)} ({', '.join(elsewhere)})",
            )
        ports = {one.removeprefix(_host_of(one)).removeprefix(":") for one in servers}
        if not elsewhere and (len(ports) != 1 or not ports.isdisjoint({"", "*"})):
            raise EnvError(
                single,
                "***",
                f"{name}=HOST:PORT=KEY instead, such as localhost:8000=KEY, because texts may be sent to several ports of this "
                "machine, and others may listen there",
            )
        return dict.fromkeys([one.removesuffix(":*") for one in elsewhere or servers], alone)

    def _named_keys(self, name: str, hosts: Collection[str]) -> dict[str, str]:
        keys: dict[str, str] = {}
        for n, entry in enumerate(self.names(name, []), start=1):
            place, _, key = entry.partition("=")
            place = _bracketed(place.strip().lower())
            found = _SERVER.fullmatch(place)
            if not found or found["port"] == "*" or not key:
                raise EnvError(
                    name,
                    "***",
                    f"HOST=KEY or HOST:PORT=KEY in each entry; entry {n} has another form",
                )
            if found["host"] not in hosts:
                raise EnvError(
                    name, "***", f"keys of allowed hosts; texts may not be sent to {found['host']}"
                )
            if not found["port"] and _is_this_machine(found["host"]):
                raise EnvError(
                    name,
                    "***",
                    f"{place}:PORT=KEY in entry {n}, because others may listen at other ports of this machine",
                )
            if place in keys:
                raise EnvError(name, "***", f"one key for each host; {place} has two")
            keys[place] = _check_key(name, key.strip())
        return keys

    def key_for(self, name: str, url_name: str, url: str) -> str:
        """Return the key that is sent to `url`, which must not be readable on its way there."""
        value = self.text(name, "")
        if value and url.startswith("http:") and not _is_this_machine(urlsplit(url).hostname or ""):
            raise EnvError(
                name,
                "***",
                f"{url_name} to begin with https://, because http:// would show the key",
            )
        return _check_key(name, value) if value else ""

    def folder(self, name: str, default: Path, *, writable: bool = False) -> Path:
        """Return the absolute path of a folder, which is made if it is not there; `writable`: files are made in it."""
        path = default.parent / self.text(name, default.name)
        make_folder(name, path)
        if writable:
            check_writable(name, path)
        return path.resolve()

    def database(self, name: str, default: Path) -> dict[str, Any]:
        """Return `parse_database_url` of `name`, or an SQLite file at `default`."""
        value = self.text(name, "")
        if not value:
            return {"ENGINE": "lib.fast.sqlite3", "NAME": str(default)}
        entry = parse_database_url(value, name)
        if entry["ENGINE"].endswith("sqlite3"):
            folder = Path(entry["NAME"]).parent
            if not folder.is_dir():
                raise EnvError(name, value, "a file in an existing folder")
            check_writable(name, folder)  # SQLite keeps its log beside the file
        return entry

    def check_storage(self, name: str) -> None:
        """Refuse a folder for the site's files that cannot be written to."""
        value = self.text(name, "")
        if value.startswith("/"):
            make_folder(name, Path(value))
            check_writable(name, Path(value))

    def storage(self, name: str, default: Path, part: str) -> dict[str, Any]:
        """Return `parse_storage` of `name` for one part of the site's files, by default a folder in `default`."""
        return parse_storage(self.text(name, str(default)), part, name)


def parse_storage(value: str, part: str, name: str = "FILES_URL") -> dict[str, Any]:
    """Return the entry of Django's `STORAGES` that a folder or a bucket says, for the files in its folder `part`.

    Who may use a bucket, and where it is, the variables of Amazon's own tools say (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...).

    >>> parse_storage("/srv/files", "scoring")["OPTIONS"]
    {'location': '/srv/files/scoring'}
    >>> parse_storage("s3://lab/brainbench", "scoring")["OPTIONS"]
    {'bucket_name': 'lab', 'location': 'brainbench/scoring'}
    """
    if value.startswith("/"):
        options = {"location": str(Path(value) / part)}
        return {"BACKEND": "lib.storage.AtomicFileStorage", "OPTIONS": options}
    bucket, _, prefix = value.removeprefix("s3://").partition("/")
    if not value.startswith("s3://") or not _BUCKET.fullmatch(bucket):
        raise EnvError(name, hide_password(value), "a folder's absolute path or s3://bucket/prefix")
    options = {"bucket_name": bucket, "location": "/".join(filter(None, (prefix.strip("/"), part)))}
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


def parse_database_url(value: str, name: str = "DATABASE_URL") -> dict[str, Any]:
    """Return the part of Django's `DATABASES` entry that a database URL says.

    User, password, host, path and options are percent-decoded. What is after `?` becomes OPTIONS, as libpq
    names them (sslmode, host for a socket's folder, ...).

    >>> parse_database_url("sqlite:////srv/brainbench.db")["NAME"]
    '/srv/brainbench.db'
    >>> entry = parse_database_url("postgres://lab:p%40ss@db.example.org:5433/bench?sslmode=require")
    >>> entry["USER"], entry["PASSWORD"], entry["HOST"], entry["PORT"], entry["NAME"]
    ('lab', 'p@ss', 'db.example.org', '5433', 'bench')
    >>> entry["OPTIONS"]
    {'sslmode': 'require'}
    """
    scheme = value.partition(":")[0].lower()
    if scheme == "sqlite":
        return _sqlite(value, name)
    if scheme in _POSTGRES_SCHEMES:
        return _postgres(value, name)
    raise EnvError(name, hide_password(value), f"{_DATABASE_FORMS}; the scheme is {scheme!r}")


def hide_password(url: str) -> str:
    """Return `url` with stars where its password is, so that it can be printed.

    >>> hide_password("postgres://lab:secret@localhost/bench")
    'postgres://lab:***@localhost/bench'
    """
    scheme, separator, rest = url.partition("://")
    # The last @ ends the user part: a password typed in without percent-encoding may hold one, or a slash.
    user_part, at, place = rest.rpartition("@")
    if not at:
        return url
    user, colon, _ = user_part.partition(":")
    return f"{scheme}{separator}{user}{':***' if colon else ''}@{place}"


_SERVER_FORMS = "names of hosts such as gpu.example.org, gpu.example.org:9000 or gpu.example.org:*"


def _bracketed(server: str) -> str:
    """An IPv6 address as addresses of pages have it."""
    try:
        return f"[{server}]" if ip_address(server).version == 6 else server
    except ValueError:
        return server


def _host_of(server: str) -> str:
    return re.sub(r":(\*|\d+)\Z", "", server)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _check_key(name: str, key: str) -> str:
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise EnvError(name, "***", "keys of ASCII characters without spaces")
    return key


def _check_web_address(name: str, value: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an impossible port, or a bracket left open
        usable = False
    if not usable or any(character.isspace() for character in value):
        raise EnvError(name, hide_password(value), "an address such as https://lab.example.org")
    return parts


def _sqlite(value: str, name: str) -> dict[str, Any]:
    path = unquote(value[len("sqlite://") :])
    if not value[len("sqlite:") :].startswith("//") or not path.startswith("//"):
        raise EnvError(
            name, value, "an absolute path after four slashes: sqlite:////absolute/path.db"
        )
    if "?" in path or path.endswith("/"):
        raise EnvError(
            name, value, "a file's path with nothing after it: sqlite:////absolute/path.db"
        )
    return {"ENGINE": "lib.fast.sqlite3", "NAME": path[1:]}


def _postgres(value: str, name: str) -> dict[str, Any]:
    expected = "postgres://user:password@host:port/name, special characters percent-encoded"
    try:
        parts = urlsplit(value)
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise EnvError(name, hide_password(value), expected) from error
    database = unquote(parts.path.removeprefix("/"))
    if not database or "/" in database or parts.fragment:
        raise EnvError(name, hide_password(value), expected)
    return {
        "ENGINE": "lib.fast.postgres",
        "NAME": database,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "OPTIONS": dict(options),
    }
