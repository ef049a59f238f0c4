"""What the debrief says about the abstracts that it does not list."""

from collections.abc import Callable

from playwright.sync_api import expect

from experiment.models import Participant, Study, Trial
from tests.browser.visitor import Visitor


def test_attention_checks_are_spoken_of_only_where_there_were_some(
    visit: Callable[..., Visitor], demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.answer("A")
    spoken = visitor.page.get_by_text("only checked attention")
    Participant.objects.update(stage="debrief")
    for stratum, listed in (("human", 1), ("catch", 0)):
        Trial.objects.filter(position=1).update(stratum=stratum)
        visitor.enter()
        visitor.is_at("debrief")
        expect(visitor.page.locator(".result")).to_have_count(listed)
        expect(spoken).to_have_count(1 - listed)
    expect(spoken).to_contain_text("one that only checked attention is not listed.")
