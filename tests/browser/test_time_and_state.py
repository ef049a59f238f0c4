"""The clock and the answer so far go on over reloads and closed tabs; leaving the page is counted."""

from collections.abc import Callable

from playwright.sync_api import expect

from experiment.models import Study
from tests.browser import engines
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]


@engines.both
def test_a_reload_keeps_the_answer_and_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(600_000)
    given = visitor.fill(Answer("A", 80, 20))
    visitor.driver.choose("B")
    visitor.page.reload()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "B"
    assert visitor.rating("confidence") == str(given.confidence)
    assert visitor.rating("expertise") == str(given.expertise)
    expect(visitor.page.locator(".rating-state").first).to_have_text("Rated")
    expect(visitor.page.locator("#recognised-no")).to_be_checked()
    visitor.page.reload()
    visitor.read_for(300_000)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes, judgment.reloads) == ("B", 1, 2)
    assert judgment.rt_choice_ms >= 600_000  # the first choice, before the reloads
    assert judgment.rt_choice_ms <= judgment.rt_final_choice_ms < 900_000
    assert (judgment.blur_count, judgment.hidden_ms) == (0, 0)  # nobody has left
    assert 900_000 <= judgment.rt_ms < 1_200_000
    assert judgment.confidence == given.confidence


def test_a_closed_tab_opened_again_keeps_the_answer_and_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(70_000)
    given = visitor.fill(Answer("A", 80, 20))
    visitor.reopen()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "A"
    assert visitor.rating("confidence") == str(given.confidence)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes, judgment.reloads) == ("A", 0, 1)
    assert 70_000 <= judgment.rt_choice_ms <= judgment.rt_ms < 370_000
    assert judgment.excluded_by == ""
    assert judgment.expertise == given.expertise


def test_a_tab_closed_before_anything_was_chosen_keeps_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(70_000)
    visitor.reopen()
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert judgment.rt_ms >= 70_000
    assert (judgment.reloads, judgment.excluded_by) == (1, "")


def test_the_next_abstract_starts_with_nothing_chosen_and_the_clock_at_zero(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.read_for(600_000)
    visitor.answer("A")
    assert visitor.chosen() == ""
    assert visitor.rating("confidence") == ""
    expect(visitor.page.locator("input:checked:not(#shortcuts-on)")).to_have_count(0)
    visitor.answer("B")
    second = visitor.judgments()[1]
    assert second.rt_ms < 300_000
    assert second.reloads == 0


def test_two_tabs_on_one_abstract_do_not_count_the_time_twice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    first = visitor.page
    visitor.read_for(1_000_000)
    visitor.driver.choose("A")
    second = first.context.new_page()
    visitor.use(second)
    visitor.enter()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "A"
    for page in (first, second):  # time goes by in both
        visitor.use(page)
        visitor.read_for(500_000)
    visitor.reopen()
    visitor.answer("B")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes) == ("B", 1)
    assert 1_500_000 <= judgment.rt_ms < 1_900_000
    assert 1_000_000 <= judgment.rt_choice_ms < 1_300_000
    # The tab that is still there does not bring back what is done with.
    # It hears of that a little later, and what it kept until then goes with it.
    first.wait_for_timeout(
        1_500
    )  # longer than static/js/trial.js takes from one keeping to the next
    first.wait_for_function(
        "token => !Object.keys(localStorage).some(key => key.includes(token))",
        arg=str(judgment.trial.token),
    )


def test_leaving_the_page_is_counted_and_its_time_is_measured(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    hide = """hidden => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
      window.dispatchEvent(new Event(hidden ? "blur" : "focus"));
    }"""
    visitor.page.evaluate(hide, True)
    visitor.read_for(200_000)
    visitor.page.evaluate(hide, False)
    visitor.read_for(50_000)
    visitor.page.evaluate("window.dispatchEvent(new Event('blur'))")
    visitor.page.evaluate("window.dispatchEvent(new Event('focus'))")
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert judgment.blur_count == 2
    assert 200_000 <= judgment.hidden_ms < 250_000
    assert 250_000 <= judgment.rt_ms < 500_000


def test_a_choice_before_the_browser_reports_a_paint_has_its_time(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    visitor.page.add_init_script(
        "window.PerformanceObserver = undefined; window.requestAnimationFrame = () => 0"
    )
    visitor.start()
    visitor.read_for(8_000)
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert 8_000 <= judgment.rt_choice_ms <= judgment.rt_ms


@engines.both
def test_the_choices_and_each_rating_have_their_times(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    steps = (
        lambda: visitor.driver.choose("A"),
        lambda: visitor.driver.rate("confidence", 20),
        lambda: visitor.driver.choose("B"),
        lambda: visitor.driver.rate("expertise", 60),
        lambda: visitor.driver.rate("confidence", 80),
        visitor.answer_recognised,
    )
    for step in steps:
        visitor.read_for(100_000)
        step()
    visitor.read_for(100_000)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    minutes = [
        judgment.rt_choice_ms,
        judgment.confidence_first_ms,
        judgment.rt_final_choice_ms,
        judgment.expertise_first_ms,
        judgment.confidence_last_ms,
        judgment.rt_ms - 100_000,
    ]
    assert [ms // 100_000 for ms in minutes] == [1, 2, 3, 4, 5, 6]
    assert judgment.expertise_last_ms == judgment.expertise_first_ms


@engines.both
def test_a_choice_has_the_time_of_the_press_however_late_a_busy_page_hears_of_it(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.page.evaluate("""() => addEventListener("click", (event) => {
      window.pressed = event.timeStamp;
      while (performance.now() < event.timeStamp + 1500);
      window.heard = performance.now();
    }, {capture: true, once: true})""")
    visitor.driver.choose("A")
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    pressed, heard, paint = visitor.page.evaluate(f"[pressed, heard, {paint}]")
    assert heard - pressed >= 1_500
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert abs(judgment.rt_choice_ms - (pressed - paint)) <= 2
