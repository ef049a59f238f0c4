#!/usr/bin/env python
"""Runs the site's commands: `.venv/bin/python manage.py help` lists them."""

import os
import sys


def main() -> None:
    """Run one command; a setting that cannot be used ends it with a sentence, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit(
            "Django is not installed here: run `make venv`, then `.venv/bin/python manage.py`."
        )
    from django.db.utils import OperationalError, ProgrammingError

    from config.env import EnvError

    try:
        execute_from_command_line(sys.argv)
    except EnvError as error:
        sys.exit(f"Wrong setting in the environment: {error}")
    except (OperationalError, ProgrammingError) as error:
        if "--traceback" in sys.argv:
            raise
        sys.exit(database_sentence(str(error).strip()))


def database_sentence(said: str) -> str:
    """What to do about a database that has no tables yet or does not answer."""
    first_line = said.splitlines()[0] if said else "no reason given"
    if "no such table" in said or ("relation" in said and "does not exist" in said):
        return f"The database has no tables yet: run `manage.py migrate` first. ({first_line})"
    return f"The database reported an error ({first_line}). Check DATABASE_URL, which names the database; --traceback shows more."


if __name__ == "__main__":
    main()
