"""What the checks say of the published items; none was tuned to hit a number."""

import re
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest

from experiment.domain.item_checks.findings import Facts, Other
from experiment.domain.item_checks.text import check_text
from tests.experiment.domain.item_checks.published_items import published_items

PAGE = Path(__file__).parents[4] / "docs" / "decisions" / "0021-item-checks.md"
TODAY = date(2026, 11, 22)
# Whose published versions are not what their authors meant, and the checks that say why
DAMAGED = {
    "brainbench-human-063": {"brackets", "lopsided"},  # a missing bracket: the passage runs on
    "brainbench-machine-025": {"sentence_start"},  # cut at a comma
    "brainbench-machine-052": {"lopsided"},
    "brainbench-machine-059": {"sentence_start", "sentence_end", "cut_passage"},
    "brainbench-machine-067": {"cut_passage"},
}


@pytest.fixture(scope="module")
def flagged(results_dir) -> dict[str, set[str]]:
    """The items in which each check found something, in the texts as published."""
    items = published_items(results_dir)
    others = [Other(i.key, i.source, i.doi, i.original) for i in items]
    by_doi = defaultdict(
        list
    )  # near ones are of one DOI here; the services' search is tested with them
    for other in others:
        by_doi[other.doi.lower()].append(other)
    found = defaultdict(set)
    for item in items:
        facts = Facts(
            "neuroscience", item.key, "test", item.source, item.doi, item.publication_date
        )
        for finding in check_text(item.markup, facts, TODAY, by_doi[item.doi.lower()]):
            found[finding.code].add(item.key)
    return found


def test_the_five_damaged_texts_are_found_without_being_told(flagged):
    for key, codes in DAMAGED.items():
        assert codes <= {code for code, keys in flagged.items() if key in keys}
    others = {code: len(flagged[code] - set(DAMAGED)) for code in set().union(*DAMAGED.values())}
    # So few of the other 295 that one looks at each
    assert others == {
        "brackets": 0,
        "lopsided": 1,
        "sentence_start": 0,
        "sentence_end": 0,
        "cut_passage": 2,
    }


def test_the_page_of_the_decision_states_what_the_checks_find(flagged):
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+) \| (\d+) \|", PAGE.read_text(), re.M)
    stated = {code: (int(human), int(machine)) for code, _, human, machine in rows}
    counted = {
        code: (
            sum(key.startswith("brainbench-human") for key in flagged[code]),
            sum(key.startswith("brainbench-machine") for key in flagged[code]),
        )
        for code in set(stated) | set(flagged)
    }
    assert stated == counted


def test_no_published_item_has_an_error(flagged):
    errors = re.findall(r"^\| `(\w+)` \| error ", PAGE.read_text(), re.M)
    assert len(errors) >= 8
    assert {code: flagged[code] for code in errors if flagged[code]} == {}
