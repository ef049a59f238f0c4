"""The debrief: what was right, both wordings of each abstract, and why the study exists."""

from collections.abc import Callable

from playwright.sync_api import expect

from experiment.models import Participant, Study, Trial
from tests.browser.visitor import Visitor

Visit = Callable[..., Visitor]


def at_the_debrief(visit: Visit, study: Study) -> tuple[Visitor, Trial]:
    """Who answered one abstract."""
    visitor = visit(study).start()
    trial = visitor.trial
    visitor.answer("A")
    Participant.objects.update(stage="debrief")
    visitor.enter()
    visitor.is_at("debrief")
    return visitor, trial


def test_attention_checks_are_spoken_of_only_where_there_were_some(
    visit: Visit, demo: Study
) -> None:
    visitor, _ = at_the_debrief(visit, demo)
    spoken = visitor.page.get_by_text("only checked attention")
    for stratum, listed in (("human", 1), ("catch", 0)):
        Trial.objects.filter(position=1).update(stratum=stratum)
        visitor.page.reload()
        expect(visitor.page.locator(".result")).to_have_count(listed)
        expect(spoken).to_have_count(1 - listed)
    expect(spoken).to_contain_text("one that only checked attention is not listed.")


def test_a_study_can_list_its_attention_checks_too(visit: Visit, demo: Study) -> None:
    Study.objects.update(debrief_catch_trials=True)
    visitor, _ = at_the_debrief(visit, demo)
    Trial.objects.filter(position=1).update(stratum="catch")
    visitor.page.reload()
    expect(visitor.page.locator(".result")).to_have_count(1)
    expect(visitor.page.get_by_text("only checked attention")).to_have_count(0)


def test_both_wordings_are_shown_and_named(visit: Visit, demo: Study) -> None:
    Study.objects.update(debrief_catch_trials=True)  # whichever the first abstract is
    visitor, trial = at_the_debrief(visit, demo)
    visitor.page.locator(".result summary").click()
    abstract = visitor.page.locator(".result .abstract")
    alternations = trial.item.abstract.alternations
    for kind, wordings in (
        ("original", [a.original for a in alternations]),
        ("changed", [a.altered for a in alternations]),
    ):
        shown = abstract.locator(f".wording-{kind}")
        assert shown.locator(".wording-text").all_text_contents() == wordings
        expect(shown.first.locator(".wording-tag")).to_have_text(kind)
        expect(shown.first).to_be_visible()


def test_the_debrief_says_why_the_study_exists_in_its_researchers_words(
    visit: Visit, demo: Study
) -> None:
    visitor, _ = at_the_debrief(visit, demo)
    why = visitor.page.get_by_role("region", name="Why this study exists")
    expect(why).to_contain_text("models of language")
    Study.objects.update(debriefing="We wondered.\n\nNow we know.")
    visitor.page.reload()
    expect(why).to_contain_text("We wondered.")
    expect(why).not_to_contain_text("models of language")
    expect(why.get_by_text("made up for this study")).to_be_visible()
