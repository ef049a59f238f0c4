"""Settings come from the environment typed, or not at all."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.env import Env, EnvError, hide_password, parse_database_url
from config.files import file_secret


def test_unset_and_empty_variables_take_the_default() -> None:
    env = Env({"EMPTY": "", "BLANK": "  "})
    assert env.text("MISSING", "x") == "x"
    assert env.flag("EMPTY", True) is True
    assert env.integer("BLANK", 7) == 7
    assert env.names("EMPTY", ["a"]) == ["a"]
    assert env.url("MISSING", "http://127.0.0.1:8000") == "http://127.0.0.1:8000"


@pytest.mark.parametrize("on", ["1", "true", "Yes", "ON"])
@pytest.mark.parametrize("off", ["0", "false", "No", "OFF"])
def test_flags_are_on_or_off(on: str, off: str) -> None:
    assert Env({"DEBUG": on}).flag("DEBUG", False) is True
    assert Env({"DEBUG": off}).flag("DEBUG", True) is False


def test_valid_values_are_read() -> None:
    assert Env({"X": " a.org ,, b.org,"}).names("X", []) == ["a.org", "b.org"]
    assert Env({"X": "https://lab.org/"}).url("X", "") == "https://lab.org"
    origins = ["https://a.org", "http://b.org:81"]
    assert Env({"X": ",".join(origins)}).origins("X") == origins
    assert Env({"X": "amqp://a"}).broker("X", "") == "amqp://a"


def port(env: Env) -> int:
    return env.integer("X", 8000, minimum=1, maximum=65535)


def chosen(env: Env) -> list[str]:
    return env.names("X", [], choices=("scoring", "analysis"))


REFUSED: list[tuple[Callable[[Env], Any], str, list[str]]] = [
    (lambda env: env.flag("X", False), "expected 1, true, yes", ["maybe"]),
    (
        port,
        "a whole number from 1 to 65535",
        ["ten", "1.5", "-1", "--1", "70000", "٣", "1_0", "1e3"],
    ),
    (chosen, "among scoring, analysis", ["scoring,lab"]),
    (lambda env: env.choice("X", "INFO", ("INFO", "ERROR")), "one of INFO, ERROR", ["LOUD"]),
    (
        lambda env: env.url("X", ""),
        "X=",
        ["lab.org", "ftp://lab.org", "https://", "https://a b.org", "http://x:port", "http://["],
    ),
    (lambda env: env.origins("X"), "X=", ["https://a.org/page"]),
    (
        lambda env: env.storage("X", Path("/srv"), "results"),
        "a folder's absolute path or s3://bucket",
        ["files", "s3://", "s3:/lab", "s3://La b/x", "https://lab/files"],
    ),
    (lambda env: env.broker("X", ""), "X=", ["localhost"]),
    (
        lambda env: env.servers("X", []),
        "gpu.example.org:9000",
        [
            "https://a.org",
            "a.org/v1",
            "a.org:0",
            "a.org:70000",
            "a b",
            "a.org:",
            "a:b@c",
            "a.org:80/",
            "*",
        ],
    ),
]


@pytest.mark.parametrize(
    ("read", "said", "value"), [(read, said, v) for read, said, values in REFUSED for v in values]
)
def test_impossible_values_are_refused_with_the_expected_form(
    read: Callable[[Env], Any], said: str, value: str
) -> None:
    with pytest.raises(EnvError, match=said) as caught:
        read(Env({"X": value}))
    assert str(caught.value).startswith(f"X={value!r} cannot be used")


def test_files_are_in_a_folder_or_in_a_bucket(tmp_path: Path) -> None:
    assert Env({}).storage("FILES_URL", tmp_path, "results")["OPTIONS"] == {
        "location": str(tmp_path / "results")
    }
    bucket = Env({"FILES_URL": "s3://lab-files"}).storage("FILES_URL", tmp_path, "results")
    assert bucket["OPTIONS"] == {"bucket_name": "lab-files", "location": "results"}


def test_without_a_database_url_the_default_file_is_used(tmp_path: Path) -> None:
    entry = Env({}).database("DATABASE_URL", tmp_path / "x.db")
    assert entry == {"ENGINE": "lib.fast.sqlite3", "NAME": str(tmp_path / "x.db")}


def test_urls_of_databases_are_read() -> None:
    assert parse_database_url("sqlite:////srv/a%20b.db")["NAME"] == "/srv/a b.db"
    short = parse_database_url("postgres://lab@localhost/bench")
    assert short == parse_database_url("postgresql://lab@localhost/bench")
    assert (short["PASSWORD"], short["PORT"], short["OPTIONS"]) == ("", "", {})
    # A socket's folder is an option or a host
    assert parse_database_url("postgres:///bench?host=/run/pg")["OPTIONS"] == {"host": "/run/pg"}
    assert parse_database_url("postgres://%2Frun%2Fpg/bench")["HOST"] == "/run/pg"


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_any_percent_encoded_password_is_read_back(password: str) -> None:
    url = f"postgres://lab:{quote(password, safe='')}@localhost/bench"
    assert parse_database_url(url)["PASSWORD"] == password


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("mysql://root@localhost/x", "the scheme is 'mysql'"),
        ("brainbench.db", "sqlite:////absolute/path.db or postgres://"),
        ("sqlite://relative.db", "four slashes"),
        ("sqlite:///relative.db", "four slashes"),
        ("sqlite://:memory:", "four slashes"),
        ("sqlite:////srv/", "a file's path"),
        ("sqlite:////srv/x.db?mode=ro", "a file's path"),
        ("postgres://localhost", "host:port/name"),
        ("postgres://localhost:port/x", "host:port/name"),
        ("postgres://localhost:99999/x", "host:port/name"),
        ("postgres://localhost/x/y", "host:port/name"),
        ("postgres://localhost/x?sslmode", "host:port/name"),
    ],
)
def test_a_database_url_that_cannot_be_used_says_what_is_expected(value: str, said: str) -> None:
    with pytest.raises(EnvError) as caught:
        parse_database_url(value)
    assert str(caught.value).startswith(f"DATABASE_URL={value!r} cannot be used: expected ")
    assert said in str(caught.value)


@pytest.mark.parametrize("password", ["hunter2", "hun/ter2", "hun@ter2", "hun:ter2"])
def test_a_password_is_never_repeated(password: str) -> None:
    for url in (f"mysql://lab:{password}@db/x", f"postgres://lab:{password}@db:no/x"):
        with pytest.raises(EnvError) as caught:
            parse_database_url(url)
        assert "ter2" not in str(caught.value)
        assert "lab:***@db" in hide_password(url)


def test_a_secret_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "var" / "secret_key"
    secret = file_secret(path)
    assert len(secret) >= 50
    assert file_secret(path) == secret
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_processes_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    path, together, secrets = tmp_path / "secret_key", threading.Barrier(16), set()

    def start() -> None:
        together.wait()
        secrets.add(file_secret(path))

    threads = [threading.Thread(target=start) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(secrets) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "var"
    with pytest.raises(EnvError) as raised:
        Env({"VAR_DIR": str(path)}).folder("VAR_DIR", tmp_path / "var")
    assert str(raised.value) == (
        f"VAR_DIR='{path}' cannot be used: expected a folder that can be written to (Not a directory)."
    )
    with pytest.raises(EnvError, match=r"a folder that can be written to \(Not a directory\)"):
        file_secret(path / "secret_key")
    made = Env({"VAR_DIR": "elsewhere"}).folder("VAR_DIR", tmp_path / "var")
    assert made == tmp_path / "elsewhere"
    assert made.is_dir()


@pytest.mark.parametrize("value", ["short", "a" * 80, "abcd" * 20])
def test_a_secret_that_could_be_guessed_is_refused_and_not_repeated(
    value: str, tmp_path: Path
) -> None:
    with pytest.raises(EnvError, match=r"SECRET_KEY=.*at least 50 characters") as raised:
        Env({"SECRET_KEY": value}).secret("SECRET_KEY", tmp_path / "secret_key")
    assert value not in str(raised.value)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "secret_key").write_text(value)
    with pytest.raises(EnvError, match="at least 50 characters") as raised:
        Env({}).secret("SECRET_KEY", tmp_path / "secret_key")
    assert f"{value}'" not in str(raised.value)


def test_a_secrets_place_that_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe, folder, nowhere, bytes_ = (
        tmp_path / name for name in ("pipe", "folder", "link", "bytes")
    )
    os.mkfifo(pipe)
    folder.mkdir()
    nowhere.symlink_to(tmp_path / "gone")
    bytes_.write_bytes(b"\xff" * 80)
    for path in (pipe, folder, nowhere, bytes_):
        with pytest.raises(EnvError):
            file_secret(path)


def test_a_folder_that_cannot_hold_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for place in (tmp_path / "file", tmp_path / "link", Path("/proc")):
        with pytest.raises(EnvError, match=r"VAR_DIR=.* a folder that can be written to"):
            Env({"VAR_DIR": str(place)}).folder("VAR_DIR", tmp_path, writable=True)
    assert not (tmp_path / "gone").exists()


def test_a_database_file_in_no_folder_is_refused(tmp_path: Path) -> None:
    env = Env({"DATABASE_URL": f"sqlite:///{tmp_path}/none/x.db"})
    with pytest.raises(EnvError, match="an existing folder"):
        env.database("DATABASE_URL", tmp_path / "x.db")


@pytest.mark.parametrize("value", ["short", "a b" * 20, "\u00e9" * 40])
def test_a_token_that_no_header_carries_or_that_is_short_is_refused(value: str) -> None:
    with pytest.raises(EnvError, match="METRICS_TOKEN") as raised:
        Env({"METRICS_TOKEN": value}).token("METRICS_TOKEN")
    assert value not in str(raised.value)


SECRET = "sk-0123456789-secret"
TWO = ["localhost", "a.example.org", "b.example.org:8443"]


def test_each_key_belongs_to_a_host() -> None:
    said = {"KEYS": f" A.example.org={SECRET}= , b.example.org:8443=b2,[::1]:8000=c3"}
    assert Env(said).server_keys("KEYS", "KEY", [*TWO, "[::1]:*"]) == {
        "a.example.org": f"{SECRET}=",
        "b.example.org:8443": "b2",
        "[::1]:8000": "c3",
    }
    assert Env({}).server_keys("KEYS", "KEY", TWO) == {}


@pytest.mark.parametrize(
    ("servers", "goes_to"),
    [
        (["localhost:8000", "127.0.0.1:8000"], ["localhost:8000", "127.0.0.1:8000"]),
        (["localhost", "a.example.org:8443"], ["a.example.org:8443"]),
        (["localhost", "a.example.org:*"], ["a.example.org"]),
    ],
)
def test_a_key_of_no_host_is_the_only_servers(servers: list[str], goes_to: list[str]) -> None:
    keys = Env({"KEY": SECRET}).server_keys("KEYS", "KEY", servers)
    assert keys == dict.fromkeys(goes_to, SECRET)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"KEY": SECRET}, "expected KEYS=HOST=KEY,HOST=KEY instead"),
        ({"KEY": f"{SECRET}\r\nX: 1"}, "without spaces"),
        ({"KEY": SECRET, "KEYS": f"a.example.org={SECRET}"}, "write all keys in KEYS"),
        ({"KEYS": SECRET}, "entry 1 has another form"),
        ({"KEYS": f"a.example.org={SECRET},b.example.org="}, "entry 2 has another form"),
        ({"KEYS": f"a.example.org:*={SECRET}"}, "entry 1 has another form"),
        ({"KEYS": f"https://a.example.org={SECRET}"}, "entry 1 has another form"),
        ({"KEYS": f"c.example.org={SECRET}"}, "may not be sent to c.example.org"),
        ({"KEYS": f"a.example.org={SECRET},A.example.org={SECRET}"}, "a.example.org has two"),
        ({"KEYS": f"a.example.org={SECRET} {SECRET}"}, "without spaces"),
        ({"KEYS": f"localhost={SECRET}"}, "localhost:PORT=KEY in entry 1"),
    ],
)
def test_keys_that_could_go_astray_are_refused_and_never_repeated(
    said: dict[str, str], words: str
) -> None:
    with pytest.raises(EnvError, match=words) as refused:
        Env(said).server_keys("KEYS", "KEY", TWO)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "servers", [["localhost"], ["[::1]:*"], ["localhost:8000", "127.0.0.1:8001"]]
)
def test_a_key_of_no_host_is_not_for_every_port_of_this_machine(servers: list[str]) -> None:
    with pytest.raises(EnvError, match="such as localhost:8000=KEY") as refused:
        Env({"KEY": SECRET}).server_keys("KEYS", "KEY", servers)
    assert SECRET not in str(refused.value)


def test_a_key_is_not_sent_where_it_can_be_read() -> None:
    read = Env({"KEY": SECRET}).key_for
    assert read("KEY", "URL", "https://eutils.example.org") == SECRET
    assert read("KEY", "URL", "http://127.0.0.1:9000") == SECRET
    with pytest.raises(EnvError, match="URL to begin with https://") as refused:
        read("KEY", "URL", "http://eutils.example.org")
    assert SECRET not in str(refused.value)
