"""A run that is taken up again asks the model that it began with."""

import json
from collections.abc import Mapping
from typing import Any

from lib.jobs.leases import Lease
from scoring.domain.backend import ScoringError
from scoring.models.answers import GeneratingJob

# They say where the numbers were made, and why as they were; they decide none
EXPLANATIONS = frozenset({"machine", "rungs_refused", "probed_on", "warnings"})


def check_as_before(
    job: GeneratingJob, lease: Lease, identity: Mapping[str, Any], *, has_answers: bool
) -> None:
    """Store who is asked; once there are answers, it must be who began.

    Raises:
        ScoringError: it is another model; the sentence says in what.
    """
    now, begun = json.loads(json.dumps(identity, default=str)), job.identity
    names = (begun.keys() | now.keys()) - EXPLANATIONS
    other = sorted(name for name in names if begun.get(name) != now.get(name))
    if begun and other and has_answers:
        raise ScoringError(
            f"The model has changed since this run began ({', '.join(other)}). Start another run."
        )
    lease.write(identity=now)
