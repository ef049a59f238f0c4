"""One job's work in a process of its own: `python -m lib.jobs.process KIND NUMBER`; KIND is the model's label."""

import os
import sys

import django

NICENESS = 10  # who takes part comes first


def main(kind: str, pk: int) -> None:
    """Do the work of the job's row, if it is still there."""
    os.nice(NICENESS)
    django.setup()
    from django.apps import apps
    from django.utils.module_loading import import_string

    job = apps.get_model(kind)._default_manager.filter(pk=pk).first()
    if job is not None:
        import_string(job.runner)(job)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
