"""What a corpus leaves out, as a user may read it: which test case a text gives away is for those who may see it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Q

from experiment.domain.roles import Right
from experiment.models import Item
from experiment.services.rights import fields_of, studies_with
from scoring.models import Corpus

LIST = "excluded.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """A document that was left out; of one that gives away a test case which is not for this user, the reason alone."""

    reason: str
    id: str = ""
    title: str = ""
    of: str = ""


def lines_of(corpus: Corpus) -> list[dict[str, Any]]:
    """The list in the corpus's folder; none where this machine does not have it."""
    try:
        with (corpus.folder / LIST).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except OSError:
        return []


def as_read_by(user: User, lines: Sequence[dict[str, Any]]) -> list[Row]:
    seen = _seen({line["of"] for line in lines if _is_test_case(line)}, user)
    rows = [
        Row(**line)
        if user.is_superuser or line["of"] in seen or not _is_test_case(line)
        else Row(line["reason"])
        for line in lines
    ]
    return sorted(
        rows, key=lambda row: not row.id
    )  # between two numbers, a hidden one is half told


def _is_test_case(line: dict[str, Any]) -> bool:
    return bool(line["reason"].startswith("test case"))


def _seen(keys: set[str], user: User) -> set[str]:
    """Keys of test cases that the user may read, in a field or in a study."""
    of_fields = Q(field__in=fields_of(user).values("name"))
    of_studies = Q(studies__in=studies_with(user, Right.SEE_ITEMS))
    found = Item.objects.filter(of_fields | of_studies, key__in=keys)
    return set(found.values_list("key", flat=True))
