"""The preset brainbench-strict, walked in the order of the printed procedure, which is read from the reference's own list."""

import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Locator, expect

from experiment.domain.exclusion import Rules
from experiment.models import Study, Trial
from experiment.services.taking_part import show_trial
from tests.browser import engines
from tests.browser.visitor import Visitor
from tests.experiment.people import start

HEADING = "## The procedure, as printed"


def printed(shared_dir: Path) -> tuple[list[str], list[str]]:
    """The steps and the rules of exclusion, clause by clause."""
    text = (shared_dir / "reference" / "FIGURES.md").read_text(encoding="utf-8")
    section = " ".join(text.split(HEADING)[1].split("\n## ")[0].split())
    steps, rules = section.split("Excluded:")
    return [
        [clause.strip(" .") for clause in part.split(";") if clause.strip(" .")]
        for part in (steps, rules)
    ]


@pytest.fixture
def strict(brainbench: Study) -> Study:
    call_command(
        "create_study",
        "strict",
        preset="brainbench-strict",
        contact="lab@example.org",
        recruitment="open",
        stdout=io.StringIO(),
    )
    return Study.objects.get(slug="strict")


def comes_before(first: Locator, second: Locator) -> bool:
    """Whether one element stands before the other on the page."""
    other = second.element_handle()
    return bool(
        first.evaluate(
            "(a, b) => a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING", other
        )
    )


def briefing_and_consent(visitor: Visitor, clause: str) -> None:
    visitor.enter()
    briefing = visitor.page.get_by_role("heading", name="About this study")
    consent = visitor.page.get_by_role("heading", name="Informed consent")
    assert comes_before(briefing, consent)
    visitor.agree()


def about_oneself(visitor: Visitor, clause: str) -> None:
    labels = visitor.page.locator(".field > label, .field > legend").all_text_contents()
    asked = [re.sub(r"[“”\"]", "", part).strip() for part in clause.split(",")]
    assert len(labels) == len(asked)
    for label, words in zip(labels, asked, strict=True):
        assert words.split(" in the field ")[0] in label.lower()
    assert "broadly construed" in labels[-1]
    assert "neuroscience" in labels[-1]
    visitor.fill_demographics()


def practice(visitor: Visitor, clause: str) -> None:
    page = visitor.page
    for part in ("#side-a", "#side-b", "[name=confidence]", "[name=expertise]", "#recognised-yes"):
        expect(page.locator(part), f"{part}: the practice has the test's format").to_have_count(1)
    visitor.practise()  # the wrong side first, which does not lead on


def eleven_trials(visitor: Visitor, clause: str) -> None:
    n, human, machine, catch = (int(number) for number in re.findall(r"\d+", clause))
    plan = [stratum for stratum, _ in visitor.participant.plan]
    assert len(plan) == n
    assert Counter(plan) == {"human": human, "machine": machine, "catch": catch}
    others = [
        [stratum for stratum, _ in start(visitor.study, kind=lambda: "pilot").plan]
        for _ in range(5)
    ]
    assert any(order != plan for order in others)


def global_counter(visitor: Visitor, clause: str) -> None:
    assert visitor.participant.policy == "paper"
    mine = set(visitor.participant.trials.values_list("item", flat=True))
    assert len(mine) == visitor.study.n_trials  # given out, and counted, all at once
    second = start(visitor.study)
    show_trial(second, 1, timezone.now())
    theirs = Trial.objects.filter(participant=second).exclude(stratum="catch")
    # All that the first did not get are used less
    assert not mine & set(theirs.values_list("item", flat=True))
    second.trials.all().delete()
    second.delete()


def one_click(visitor: Visitor, clause: str) -> None:
    passages = visitor.page.locator("label.passage-b")
    passages.last.click()
    assert visitor.chosen() == "B"
    chosen = passages.evaluate_all("nodes => nodes.map(node => node.control.checked)")
    assert chosen == [True] * passages.count()


def both_ratings(visitor: Visitor, clause: str) -> None:
    page = visitor.page
    ends = re.findall(r'"([^"]+)" to "([^"]+)"', clause)
    for name, (low, high) in zip(("confidence", "expertise"), ends, strict=True):
        slider = page.locator(f"#{name}")
        assert comes_before(page.locator("p.abstract"), slider)
        assert [slider.get_attribute("min"), slider.get_attribute("max")] == ["1", "100"]
        rating = page.locator("[data-rating]").filter(has=slider)
        expect(rating).to_contain_text(low)
        expect(rating).to_contain_text(high)
        assert visitor.rating(name) == ""  # no value until it is moved
    assert comes_before(page.locator("#confidence"), page.locator("#expertise"))
    visitor.answer_recognised()
    for name in ("confidence", "expertise"):
        visitor.go_on()
        expect(page.locator(f"#{name}-error"), f"{name} is required").to_be_visible()
        visitor.driver.rate(name, 60)


def encountered_before(visitor: Visitor, clause: str) -> None:
    page = visitor.page
    assert comes_before(page.locator("#expertise"), page.locator("#recognised-yes"))
    visitor.go_on()
    visitor.is_at("trial/2")
    for _ in range(visitor.study.n_trials - 1):
        visitor.answer(visitor.trial.original_side)


def debrief(visitor: Visitor, clause: str) -> None:
    visitor.is_at("debrief")
    verdicts = visitor.page.locator(".result").all_text_contents()
    judged = visitor.judgments()
    assert len(verdicts) == visitor.study.n_trials  # the catch trials too
    for verdict, judgment in zip(verdicts, judged, strict=True):
        assert ("right." in verdict) == judgment.correct


def cheating(visitor: Visitor, clause: str) -> None:
    box = visitor.page.get_by_role("checkbox", name="I looked something up")
    assert comes_before(visitor.page.locator(".results"), box)
    visitor.finish()
    visitor.is_at("done")


# A word of the printed clause, and what it is on our pages
STEPS: list[tuple[str, Callable[[Visitor, str], None]]] = [
    ("consent", briefing_and_consent),
    ("gender identity", about_oneself),
    ("practice trial", practice),
    ("random order", eleven_trials),
    ("global counter", global_counter),
    ("one click", one_click),
    ("both ratings, required", both_ratings),
    ("encountered before", encountered_before),
    ("debrief", debrief),
    ("cheating", cheating),
]
RULES: list[tuple[str, Callable[[Rules], bool]]] = [
    ("not both catch", lambda rules: rules.missed_catch),
    ("no slider moved", lambda rules: rules.untouched_sliders == "neither"),
    ("cheating", lambda rules: rules.admitted_cheating),
    ("recognised", lambda rules: rules.recognised),
    ("under 5 s", lambda rules: rules.min_rt_ms == 5_000),
]


@engines.firefox
def test_the_strict_study_is_the_printed_procedure_step_by_step(
    visit: Callable[..., Visitor], strict: Study, shared_dir: Path
) -> None:
    clauses, _ = printed(shared_dir)
    visitor = visit(strict)
    for clause, (word, step) in zip(clauses, STEPS, strict=True):
        assert word in clause, f"the printed order is another: {clause}"
        step(visitor, clause)
    assert visitor.participant.stage == "finished"


def test_the_strict_study_excludes_by_the_printed_rules(strict: Study, shared_dir: Path) -> None:
    _, clauses = printed(shared_dir)
    for clause, (words, holds) in zip(clauses, RULES, strict=True):
        assert words in clause
        assert holds(strict.exclusion_rules), clause
