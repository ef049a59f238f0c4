"""Fuzz one thing in a process of its own, on the scratch database of DATABASE_URL: what kills a process is found, too."""

import argparse
import json
import logging
import sys
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
    parser.add_argument("what", choices=("files", "forms", "journey", "api", "wire"))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--cases", type=int, required=True)
    parser.add_argument("--port", type=int, default=0, help="of the site, for wire")
    asked = parser.parse_args()
    django.setup()
    logging.disable(logging.CRITICAL)  # thousands of refusals
    # Models can be imported after the set-up alone
    from benchmarks.trust.fuzz import api, files, journey, sending
    from benchmarks.trust.fuzz.material import prepare

    name, seed, n = f"fuzz-{asked.seed}", asked.seed, asked.cases
    material = prepare(name)
    match asked.what:
        case "files":
            tally = files.run(material, seed, n)
        case "forms":
            tally = sending.run(material, prepare(f"{name}-lab"), seed, n)
        case "wire":
            tally = sending.run_wire(material, asked.port, seed, n)
        case "api":
            tally = api.run(material, seed, n)
        case _:
            tally = journey.run(material.user, seed, n)
    json.dump(asdict(tally), sys.stdout)


if __name__ == "__main__":
    main()
