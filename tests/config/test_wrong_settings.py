"""A setting that cannot work ends each of the site's processes with one sentence."""

from pathlib import Path

import pytest

from tests import processes

CHECK, GUNICORN = "manage.py check", "-m gunicorn -c config/gunicorn.py config.wsgi"
PROCESSES = (CHECK, GUNICORN, "manage.py work", "-m celery -A config worker")


@pytest.mark.parametrize(
    ("process", "name", "value"),
    [
        *((process, "SECRET_KEY", "short") for process in PROCESSES),
        (GUNICORN, "BIND", "0.0.0.0:8000"),
        (GUNICORN, "THREADS", "many"),
        (GUNICORN, "FILES_URL", "/dev/null/files"),
        (CHECK, "ALLOWED_HOSTS", "lab.example.org:8000"),
        (CHECK, "DATABASE_URL", "oracle://lab:hunter2@db/x"),
    ],
)
def test_a_process_refuses_what_it_cannot_work_with(
    process: str, name: str, value: str, tmp_path: Path
) -> None:
    done = processes.run(*process.split(), folder=tmp_path, **{name: value})
    assert done.returncode not in (0, None)
    said = (done.stdout + done.stderr).strip()
    assert "\n" not in said
    assert said.startswith(f"Wrong setting in the environment: {name}=")
    assert "hunter2" not in said


def test_gunicorn_listens_where_the_checked_setting_says_alone(tmp_path: Path) -> None:
    where = "0.0.0.0:0"
    command = f"-m gunicorn -c config/gunicorn.py --bind {where} config.wsgi"
    done = processes.run(*command.split(), folder=tmp_path)
    assert done.returncode not in (0, None)
    assert f"configured to listen at {where}. Use BIND instead" in done.stderr
    assert "Listening" not in done.stdout + done.stderr


def test_the_check_before_deployment_refuses_an_address_that_gunicorn_refuses(
    tmp_path: Path,
) -> None:
    command = "manage.py check --deploy"
    wrong = {"BIND": "0.0.0.0:8000", "HTTPS": "1", "BASE_URL": "https://127.0.0.1"}
    done = processes.run(*command.split(), folder=tmp_path, **wrong)
    assert done.returncode not in (0, None)
    assert "(experiment.E001) gunicorn would not start: BIND=" in done.stderr
    right = wrong | {"FORWARDED_ALLOW_IPS": "10.0.0.5"}
    assert "E001" not in processes.run(*command.split(), folder=tmp_path, **right).stderr
    # Commands listen nowhere
    assert processes.run("manage.py", "check", folder=tmp_path, **wrong).returncode == 0
