"""What the tables of a data set are made of besides trials, as a name: light, since pages ask."""

import hashlib

from analysis.data.version import data_version
from analysis.models import Computation
from experiment.models import Study


def state(study: Study) -> str:
    """Equal names, equal tables: of models, and of the teams that are stored."""
    teams = Computation.objects.filter(
        study=study, kind=Computation.Kind.TEAMS, status=Computation.Status.FINISHED
    )
    parts = [data_version(study), *teams.order_by("key").values_list("key", flat=True)]
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()
