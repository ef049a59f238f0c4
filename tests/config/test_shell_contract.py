"""The promises at the shell: one sentence when something is missing, and nothing done twice."""

import importlib.util
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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


def test_every_requirement_is_pinned_to_one_version_that_the_constraints_hold() -> None:
    constraints = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    named = [
        unmarked(line)
        for name in ("web", "scoring", "analysis", "dev")
        for line in (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
        if line and not line.startswith(("#", "-c"))
    ]
    assert len(named) > 50
    assert [line for line in named if not re.fullmatch(r"[A-Za-z0-9,._\[\]-]+==[\w.]+", line)] == []
    assert {re.sub(r"\[.*\]", "", line) for line in named} <= set(constraints)
    assert not [line for line in constraints if "/" in line or "+" in line]


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


def test_a_port_that_is_taken_is_said_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = shell(sys.executable, "scripts/check_port.py", port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Port {port} is used by another program")
    assert len(done.stderr.splitlines()) == 1
    assert shell(sys.executable, "scripts/check_port.py", port).returncode == 0


def test_an_unsupported_python_is_named() -> None:
    said = script("make_venv").wrong_version
    assert [bool(said(version)) for version in ((3, 10), (3, 11, 2), (3, 13, 1), (3, 14))] == [
        True, False, False, True,
    ]  # fmt: skip


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
