"""What was scored: a run is continued only with the model that it was begun with."""

import json
from collections.abc import Mapping
from typing import Any

from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun

# Parts of an identity that say where the numbers were made, and why as they were; they decide none, and may differ
EXPLANATIONS = frozenset({"machine", "rungs_refused", "probed_on", "warnings"})


def check_identity(run: ScoringRun, identity: Mapping[str, Any]) -> None:
    """Check that a model is the one that the run was begun with, in all that decides its numbers.

    Raises:
        ScoringError: it is another; the sentence says in what.
    """
    before, now = _flat(run.identity), _flat(stored_form(identity))
    differences = [
        f"{name} was {before.get(name, 'not there')}, is {now.get(name, 'not there')}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name) and name.partition(".")[0] not in EXPLANATIONS
    ]
    if differences:
        raise ScoringError(
            f"Run {run.pk} was begun with something else: {'; '.join(differences)}. "
            "Start a new run for numbers that go together."
        )


def stored_form(values: Mapping[str, Any]) -> dict[str, Any]:
    """As the database gives it back."""
    as_json: dict[str, Any] = json.loads(json.dumps(dict(values), default=str))
    return as_json


def _flat(values: Any, name: str = "") -> dict[str, Any]:
    """Nested JSON as one level: {"versions": {"torch": 2}} -> {"versions.torch": 2}."""
    if not isinstance(values, dict):
        return {name: values}
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{name}.{key}" if name else key)
    return flat
