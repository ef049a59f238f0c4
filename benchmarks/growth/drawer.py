"""One of several processes that draw at once: `python -m benchmarks.growth.drawer DRAWS`, on the database of DATABASE_URL.

It prepares its participants, says so, waits for a line, draws, and prints a JSON object.
"""

import json
import os
import sys
import time
from typing import Any

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.utils import timezone

    from benchmarks.growth.works import at_first_trial
    from benchmarks.web.site import SLUG
    from experiment.models import Study
    from experiment.services import drawing, taking_part

    study = Study.objects.get(slug=SLUG)
    people = [at_first_trial(study) for _ in range(int(sys.argv[1]))]
    tries = 0
    take = drawing._take

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal tries
        tries += 1
        return take(*args, **kwargs)

    drawing._take = counted  # counts, and does as before
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    started = time.perf_counter()
    for person in people:
        taking_part.show_trial(person, 1, timezone.now())
    found = {"draws": len(people), "tries": tries, "wall_s": time.perf_counter() - started}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
