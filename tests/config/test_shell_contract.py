"""What we promise at the shell: one sentence when something is missing, and nothing done twice."""

import importlib.util
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
BARE = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}


def shell(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command at the repository's root with a bare environment."""
    return subprocess.run(
        command, cwd=ROOT, env={**BARE, **environment}, capture_output=True, text=True, timeout=60
    )


def script(name: str) -> ModuleType:
    """Return scripts/NAME.py as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unmarked(requirement: str) -> str:
    """Without the versions of Python that it is for."""
    return requirement.partition(";")[0].strip()


def test_every_requirement_is_pinned_to_one_version() -> None:
    files = sorted((ROOT / "requirements").glob("*.txt"))
    lines = [line for file in files for line in file.read_text().splitlines()]
    named = [unmarked(line) for line in lines if line and not line.startswith(("#", "-c"))]
    assert len(named) > 100
    pin = r"[A-Za-z0-9,._\[\]-]+==[\w.]+"
    assert [line for line in named if not re.fullmatch(pin, line)] == []


def test_the_constraints_hold_every_requirement_and_no_address() -> None:
    constraints = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    for name in ("web", "scoring", "analysis", "dev"):
        for line in (ROOT / "requirements" / f"{name}.txt").read_text().splitlines():
            if line and not line.startswith(("#", "-c")):
                assert re.sub(r"\[.*\]", "", unmarked(line)) in constraints
    assert not [line for line in constraints if "/" in line or "+" in line]


@pytest.mark.parametrize("target", ["venv", "demo", "serve", "lint", "check", "test"])
def test_make_knows_the_promised_targets(target: str) -> None:
    done = shell("make", "--dry-run", "--always-make", target)
    assert done.returncode == 0, done.stderr


def test_make_does_nothing_twice() -> None:
    done = shell("make", "--question", "venv")
    assert done.returncode == 0, "`make venv` would install again"


def test_ci_runs_make_test_and_forbids_skips(tmp_path: Path) -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    fake = tmp_path / "make"
    fake.write_text('#!/bin/sh\necho "$1 $FORBID_SKIPS $SHARED_DATA"\n')
    fake.chmod(0o755)
    done = shell("bash", ".ci/run", PATH=f"{tmp_path}:{BARE['PATH']}")
    assert done.stdout == f"test 1 {ROOT.parent / 'shared'}\n"


def test_a_wrong_setting_ends_a_command_with_one_sentence() -> None:
    done = shell(sys.executable, "manage.py", "check", DATABASE_URL="oracle://lab:hunter2@db/x")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(
        "Wrong setting in the environment: DATABASE_URL='oracle://lab:***@"
    )
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_said_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = shell(sys.executable, "scripts/check_port.py", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Port {port} is taken by another program")
    assert len(done.stderr.splitlines()) == 1
    assert shell(sys.executable, "scripts/check_port.py", port).returncode == 0


@pytest.mark.parametrize("port", ["", "http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_said_so(port: str) -> None:
    assert "is no port" in shell(sys.executable, "scripts/check_port.py", port).stderr


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 14)])
def test_an_unsupported_python_is_named(version: tuple[int, int]) -> None:
    said = script("make_venv").wrong_version(version)
    assert said.startswith(f"Python {version[0]}.{version[1]} is not supported")


@pytest.mark.parametrize("version", [(3, 11, 2), (3, 12, 0), (3, 13, 1)])
def test_a_supported_python_is_taken(version: tuple[int, int, int]) -> None:
    assert script("make_venv").wrong_version(version) == ""


def test_a_python_without_venv_is_told_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = script("make_venv")
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)  # who may not install it for us
    with pytest.raises(SystemExit, match=r"install Debian's package python3\.\d+-venv"):
        module.main()


def test_a_browser_named_by_hand_is_used_and_must_exist(tmp_path: Path) -> None:
    named = tmp_path / "my-chrome"
    named.write_text("#!/bin/sh\n")
    named.chmod(0o755)
    for browser, variable in ((), "BROWSER_PATH"), (("firefox",), "FIREFOX_PATH"):
        done = shell(sys.executable, "scripts/find_browser.py", *browser, **{variable: str(named)})
        assert done.stdout == f"{named}\n"
    gone = shell(sys.executable, "scripts/find_browser.py", BROWSER_PATH="/no/such/browser")
    assert gone.returncode == 1
    assert gone.stderr == (
        "BROWSER_PATH=/no/such/browser is no program: give the path of a Chromium or Chrome.\n"
    )


def test_where_no_browser_is_found_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    home = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    for browser, spoken in (("chromium", "Chromium or Chrome"), ("firefox", "Firefox")):
        done = shell(sys.executable, "scripts/find_browser.py", browser, **home)
        assert done.returncode == 1
        assert done.stderr.startswith(f"No {spoken} was found for the browser tests:")
        assert len(done.stderr.splitlines()) == 1


def test_a_skipped_test_fails_the_run_where_skips_are_forbidden(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(shared_dir): pass\ndef test_other(): pass\n")
    command = (sys.executable, "-m", "pytest", "-q", "-c", "pyproject.toml")
    place = {"SHARED_DATA": str(tmp_path), "VAR_DIR": str(tmp_path / "var")}
    files = ("-o", f"cache_dir={tmp_path / 'cache'}", "-p", "tests.conftest", str(tmp_path))
    allowed = shell(*command, *files, **place)
    assert (allowed.returncode, "1 skipped" in allowed.stdout) == (0, True), allowed.stdout
    forbidden = shell(*command, *files, FORBID_SKIPS="1", **place)
    assert forbidden.returncode == 1
    assert "skipped although FORBID_SKIPS=1" in forbidden.stdout
    assert "test_it.py::test_it" in forbidden.stdout


def test_a_private_postgresql_starts_where_none_answers() -> None:
    """Slow (a second or two): it makes a database cluster."""
    module = script("with_postgres")
    assert not module.usable("postgres://postgres@127.0.0.1:1/postgres")
    with module.private_server() as server:
        assert module.usable(server.url)
        assert not module.usable(re.sub(r":[^:@/]+@", ":wrong@", server.url))
        server.stop()
        assert not module.usable(server.url)
        server.start()
        assert module.usable(server.url)
    assert not module.usable(server.url)


def test_the_private_databases_name_belongs_to_one_process() -> None:
    named = script("with_postgres").with_own_name("postgres://a:b@localhost:1/x?sslmode=require")
    assert named == f"postgres://a:b@localhost:1/brainbench_{os.getpid()}?sslmode=require"
