"""A judge of tests, and what it has said."""

import re
from typing import Any

from django.db.models import F

from scoring.models import GradingRun


class Judge:
    """Says of a response what `says` holds for it; else 2."""

    def __init__(self, **says: Any) -> None:
        self.says = says

    def __call__(self, request: dict[str, Any]) -> str:
        told = request["messages"][1]["content"]
        response = re.search(r"----- response \w+\n(.*)\n----- end", told, re.DOTALL)
        assert response is not None
        said = self.says.get(response.group(1), "2")
        if isinstance(said, list):
            return str(said.pop(0))
        return str(said)


def points(run: GradingRun) -> list[float | None]:
    """The points of a run: of models' answers first, in their order."""
    in_order = run.grades.order_by(F("answer_id").asc(nulls_last=True), "judgment_id")
    return list(in_order.values_list("points", flat=True))
