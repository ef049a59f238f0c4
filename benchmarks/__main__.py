"""The developers' commands: `python -m benchmarks bench NAME` and `python -m benchmarks trust`."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    execute_from_command_line(["python -m benchmarks", *sys.argv[1:]])


if __name__ == "__main__":
    main()
