"""The findings of the checks in the published items; none was tuned to hit a number."""

import re
from collections import defaultdict
from datetime import date
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from experiment.domain.item_checks.characters import estimated_tokens, least_tokens
from experiment.domain.item_checks.findings import Facts, Other
from experiment.domain.item_checks.text import check_text
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import DATES_FILE, FILES, PublishedItem, read_items

PAGE = Path(__file__).parents[3] / "docs" / "test-cases.md"
TODAY = date(2026, 11, 22)
# Whose published versions are not what their authors meant, and the checks that say why
DAMAGED = {
    "brainbench-human-063": {"brackets", "lopsided"},  # a missing bracket: the passage runs on
    "brainbench-machine-025": {"sentence_start"},  # cut at a comma
    "brainbench-machine-052": {"lopsided"},
    "brainbench-machine-059": {"sentence_start", "sentence_end", "cut_passage"},
    "brainbench-machine-067": {"cut_passage"},
}
# So few of the other 295 that one looks at each
OTHERS = {"brackets": 0, "lopsided": 1, "sentence_start": 0, "sentence_end": 0, "cut_passage": 2}


@pytest.fixture(scope="module")
def published(results_dir: Path) -> list[PublishedItem]:
    problems: list[Problem] = []
    items = read_items(results_dir, [*FILES.values(), DATES_FILE], problems)
    assert (len(items), problems) == (300, [])
    return items


@pytest.fixture(scope="module")
def flagged(published: list[PublishedItem]) -> dict[str, set[str]]:
    """The items in which each check found something, in the texts as published."""
    by_doi = defaultdict(list)  # near ones are of one DOI here; services test the search for them
    for item in published:
        by_doi[item.doi.lower()].append(Other(item.key, item.source, item.doi, item.original))
    flagged = defaultdict(set)
    for item in published:
        facts = Facts(
            "neuroscience", item.key, "test", item.source, item.doi, item.publication_date
        )
        for finding in check_text(item.markup, facts, TODAY, by_doi[item.doi.lower()]):
            flagged[finding.code].add(item.key)
    return flagged


def test_the_five_damaged_texts_are_found_without_being_told(flagged: dict[str, set[str]]) -> None:
    for key, codes in DAMAGED.items():
        assert codes <= {code for code, keys in flagged.items() if key in keys}
    assert {code: len(flagged[code] - set(DAMAGED)) for code in OTHERS} == OTHERS


def test_the_page_about_test_cases_states_what_the_checks_find(
    flagged: dict[str, set[str]],
) -> None:
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
    errors = [code for code, level, *_ in rows if level == "error"]
    assert len(errors) >= 8
    assert not [code for code in errors if flagged[code]]


def test_the_bound_and_the_estimate_of_tokens_hold_against_gpt_2s_own_count(
    published: list[PublishedItem], shared_dir: Path
) -> None:
    gpt2 = Tokenizer.from_file(str(shared_dir / "tokenizers" / "gpt2" / "tokenizer.json"))
    counts = {item.original: len(gpt2.encode(item.original).ids) for item in published}
    assert all(least_tokens(text) <= n for text, n in counts.items())
    ratios = sorted(estimated_tokens(text) / n for text, n in counts.items())
    assert ratios[0] > 0.85
    assert 0.95 < ratios[len(ratios) // 2] < 1.1
    assert ratios[-1] < 1.25
