"""`screen_items`: a model reads what is not in use yet; the numbers are those of every other scoring."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring.models import ItemScreening
from scoring.pairs import score_pairs
from tests.factories import make_item, make_research_field

pytestmark = pytest.mark.django_db


def screened(*more: str) -> Any:
    out = StringIO()
    arguments = ["--field", "cooking", "--model", "embedded", "--prompt", "none", "--json", *more]
    call_command("screen_items", *arguments, stdout=out)
    return json.loads(out.getvalue())["screened"]


def test_drafts_and_what_is_in_review_are_read_once_each_as_they_stand() -> None:
    make_research_field("cooking")
    draft = make_item("onion", field="cooking", status="draft")
    make_item("garlic", field="cooking", status="in_review")
    make_item("leek", field="cooking", status="accepted")
    make_item("bread", field="baking", status="draft")
    found = screened()
    assert [row["item"] for row in found] == ["garlic", "onion"]
    (pair,) = score_pairs([(draft.original, draft.altered)], "embedded", "none")
    assert found[1]["ppl_original"] == pytest.approx(pair.original.ppl)
    assert found[1]["difficulty"] == pytest.approx(pair.altered.ppl - pair.original.ppl)
    assert screened() == []
    draft.markup = draft.markup.replace("fell", "doubled")
    draft.save()
    assert [row["item"] for row in screened()] == ["onion"]
    assert ItemScreening.objects.filter(item=draft).count() == 2


def test_a_field_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandError, match="There is no field “cooking”"):
        screened()
