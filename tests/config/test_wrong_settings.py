"""A setting that cannot work ends each of the site's processes with one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = (
    "manage.py check",
    "manage.py work",
    "-m gunicorn -c config/gunicorn.py config.wsgi",
    "-m celery -A config worker",
)


def start(process: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *process.split()],
        env={"PATH": os.environ["PATH"], "VAR_DIR": str(folder), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str], name: str) -> None:
    assert done.returncode not in (0, None)
    said = (done.stdout + done.stderr).strip()
    assert "\n" not in said
    assert said.startswith("Wrong setting in the environment: ")
    assert name in said


@pytest.mark.parametrize("process", PROCESSES)
def test_every_process_refuses_a_short_key(process: str, tmp_path: Path) -> None:
    assert_one_sentence(start(process, tmp_path, SECRET_KEY="short"), "SECRET_KEY")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BIND", "0.0.0.0:0"),
        ("BIND", "0.0.0.0:8000"),
        ("WORKERS", "0"),
        ("THREADS", "many"),
        ("LOG_FORMAT", "xml"),
        ("DATABASE_STATEMENT_SECONDS", "-1"),
        ("FILES_URL", "/dev/null"),
        ("FILES_URL", "/dev/null/files"),
    ],
)
def test_gunicorn_refuses_what_it_cannot_serve_with(name: str, value: str, tmp_path: Path) -> None:
    assert_one_sentence(start(PROCESSES[2], tmp_path, **{name: value}), name)


@pytest.mark.parametrize("where", ["0.0.0.0:0", "127.0.0.1:0"])
def test_gunicorn_listens_where_the_checked_setting_says_alone(where: str, tmp_path: Path) -> None:
    process = f"-m gunicorn -c config/gunicorn.py --bind {where} config.wsgi"
    done = start(process, tmp_path)
    assert done.returncode not in (0, None)
    assert f"told to listen at {where}: say it by BIND" in done.stderr
    assert "Listening" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOWED_HOSTS", "https://lab.example.org"),
        ("ALLOWED_HOSTS", "lab.example.org:8000"),
        ("DATABASE_URL", "sqlite:////proc/study.sqlite3"),
    ],
)
def test_a_site_refuses_hosts_and_databases_that_cannot_be_meant(
    name: str, value: str, tmp_path: Path
) -> None:
    assert_one_sentence(start(PROCESSES[0], tmp_path, **{name: value}), name)
