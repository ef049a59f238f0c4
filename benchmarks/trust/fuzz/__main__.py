"""Fuzz one thing: `python -m benchmarks.trust.fuzz submits --seed 1 --case 101` makes a case again, on a scratch database.

With `--here` on the database of DATABASE_URL, which is a scratch one then: a check starts this process on its own.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager
from dataclasses import asdict

import django

QUICKLY = {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "STATIC_HASHED": "0",
    "LOG_LEVEL": "ERROR",
    "ALLOWED_HOSTS": "127.0.0.1",
    "JOB_EXECUTOR": "celery",  # nothing is computed in between,
    "CELERY_BROKER_URL": "memory://",  # and nobody is told to
    "API_REQUESTS_PER_MINUTE": "1000000",
    "API_ANONYMOUS_PER_MINUTE": "1000000",
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trust.fuzz")
    parser.add_argument("what", choices=("imports", "submits", "journey", "api", "wire"))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--case", type=int, help="this one alone")
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first of them")
    parser.add_argument("--postgres", action="store_true", help="not on SQLite")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--migrate", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help="of the site, for wire")
    asked = parser.parse_args()
    if asked.here:
        _fuzz_here(asked)
    else:
        sys.exit(_on_scratch(asked))


def _fuzz_here(asked: argparse.Namespace) -> None:
    django.setup()
    logging.disable(logging.CRITICAL)  # thousands of refusals
    # Models can be imported after the set-up alone
    from django.core.management import call_command

    from benchmarks.trust.fuzz.parts import fuzz

    if asked.migrate:
        call_command("migrate", verbosity=0)
    first, n = (asked.first, asked.cases) if asked.case is None else (asked.case, 1)
    numbers = range(first, first + n)
    json.dump(asdict(fuzz(asked.what, asked.seed, numbers, asked.port)), sys.stdout)


def _on_scratch(asked: argparse.Namespace) -> int:
    from benchmarks.databases import scratch_postgres, scratch_sqlite

    database: AbstractContextManager[str | None] = (
        scratch_postgres() if asked.postgres else scratch_sqlite()
    )
    with database as url, tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        if url is None:
            return 1
        environment = {**os.environ, **QUICKLY, "DATABASE_URL": url, "VAR_DIR": folder}
        command = [
            sys.executable,
            "-m",
            "benchmarks.trust.fuzz",
            *sys.argv[1:],
            "--here",
            "--migrate",
        ]
        return subprocess.call(command, env=environment)


if __name__ == "__main__":
    main()
