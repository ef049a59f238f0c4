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
    from config.env import EnvError

    try:
        execute_from_command_line(sys.argv)
    except EnvError as error:
        sys.exit(f"Wrong setting in the environment: {error}")


if __name__ == "__main__":
    main()
