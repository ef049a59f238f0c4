"""Two people set one study up: what either changes survives, and what both change is shown to the second."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.models import AuditEvent, Item, ResearchField, Study
from experiment.services.curation import writing
from experiment.services.questions import save_template
from tests.experiment import people
from tests.experiment.http_client import at_once
from tests.factories import (
    make_adviser,
    make_arms,
    make_channel,
    make_question,
    make_research_field,
    make_study,
    make_survey,
    make_user,
)
from tests.forms import Browser, PageForm, form_at, forms_of

pytestmark = pytest.mark.django_db
STUDY, FIELD = "/lab/studies/memory/", "/lab/fields/cooking/"
# Of each form two fields with two new values each, as they are sent
FORMS: dict[str, dict[str, tuple[str, str]]] = {
    f"{STUDY}set-up/general/": {"title": ("Forests", "Woods"), "contact": ("a@example.org", "b@example.org")},
    f"{STUDY}set-up/texts/": {"briefing": ("Read this.", "Look."), "consent": ("I agree.", "Yes.")},
    f"{STUDY}set-up/trials/": {"human_items": ("3", "4"), "machine_items": ("2", "3")},
    f"{STUDY}set-up/rules/": {"min_rt_ms": ("3", "4.5"), "fast_page_ms": ("7", "8")},
    f"{STUDY}set-up/target/": {"target_valid": ("40", "50"), "live_minutes": ("20", "25")},
    f"{STUDY}set-up/advice/": {"shown_name": ("an oracle", "an aide"), "planted_percent": ("70", "90")},
    f"{STUDY}set-up/arms/1/": {"name": ("calm", "wild"), "share": ("3", "4")},
    f"{STUDY}set-up/survey/question/text/": {"text": ("Why?", "How?"), "place": ("before", "after")},
    f"{STUDY}recruitment/channels/sona/": {"label": ("Pool", "Panel"), "completion_code": ("AB12", "CD34")},
    f"{STUDY}privacy/policy/": {"retain_until": ("2040-01-01", "2041-01-01"), "withdrawal_policy": ("delete", "anonymise")},
    f"{STUDY}grading/plan/": {"plan-seed": ("5", "6"), "plan-tolerance": ("2.0", "3.0")},
    f"{FIELD}settings/": {"name": ("baking", "frying"), "reviews_needed": ("2", "3")},
    f"{FIELD}subfields/PK/": {"name": ("bread", "rolls"), "purpose": ("To rise.", "To sink.")},
    f"{FIELD}questions/QUESTION/write/": {"expert_answer": ("Salt.", "Sugar."), "note": ("a", "b")},
    f"{FIELD}questions/templates/TEMPLATE/write/": {"question": ("Is {{ a }} hot?", "Is {{ a }} cold?"), "rules-0-answer": ("Ja.", "Nein.")},
}  # fmt: skip
TWO = {url: list(fields) for url, fields in FORMS.items()}


@dataclass
class Lab:
    study: Study
    research_field: ResearchField
    people: dict[str, Browser]
    places: dict[str, str]

    def at(self, url: str) -> str:
        for name, pk in self.places.items():
            url = url.replace(name, pk)
        return url

    def opened(self, who: str, url: str) -> PageForm:
        form = form_at(self.people[who], self.at(url))
        assert form is not None, url
        return form

    def save(self, who: str, url: str, form: PageForm, **changes: Any) -> Any:
        return Client.post(self.people[who], self.at(url), form.filled(**changes))

    def now(self, url: str) -> dict[str, str]:
        """The values that the form shows."""
        values = self.opened("ada", url).values
        return {name: " ".join(values.get(name, [])) for name in FORMS[url]}


@pytest.fixture
def lab(db: None) -> Lab:
    study = make_study()
    make_arms(study)
    planted = {"kind": "planted", "source": "", "planted_accuracy": 0.8}
    make_adviser(study, is_frozen=False, **planted)
    make_survey(study, "text")
    make_channel(study, "sona")
    make_question("question-1", field="cooking")
    users = [make_user(name, study) for name in ("ada", "ben")]
    field = make_research_field("cooking", "pastry")
    for user in users:
        field.members.add(user, through_defaults={"role": "lead"})
    browsers = {user.username: Browser() for user in users}
    for user in users:
        browsers[user.username].force_login(user)
    # Without test cases of its own, so that its name can change
    other = make_research_field("other")
    other.members.set(users, through_defaults={"role": "lead"})
    Item.objects.update(field="other")
    draft = writing.create_draft(
        other, "What [[rises]]?", by=users[0], kind="question", expert_answer="Dough."
    )
    template = save_template(
        field, "gases", "Is {{ a }} a gas?", [{"when": "", "answer": "Yes."}], {}, by=users[0]
    )
    places = {
        "PK": str(field.subfields.get().pk),
        "QUESTION": str(draft.pk),
        "TEMPLATE": str(template.pk),
        "/lab/fields/cooking/questions/" + str(draft.pk): f"/lab/fields/other/questions/{draft.pk}",
    }
    return Lab(study, field, browsers, places)


@pytest.mark.parametrize("url", TWO)
def test_two_fields_of_a_form_are_both_saved(lab: Lab, url: str) -> None:
    one, two = TWO[url]
    mine, theirs = lab.opened("ada", url), lab.opened("ben", url)
    first, second = FORMS[url][one][0], FORMS[url][two][0]
    assert lab.save("ben", url, theirs, **{two: second}).status_code == 302
    saved = lab.save("ada", url, mine, **{one: first})
    assert saved.status_code == 302, saved.context["form"].errors
    assert lab.now(url) == {one: first, two: second}
    # Who changes nothing undoes nothing
    assert lab.save("ben", url, theirs).status_code == 302
    assert lab.now(url) == {one: first, two: second}


@pytest.mark.parametrize("url", TWO)
def test_conflicting_changes_are_shown_with_who_and_when_and_none_is_lost(
    lab: Lab, url: str
) -> None:
    one = TWO[url][0]
    first, second = FORMS[url][one]
    mine, theirs = lab.opened("ada", url), lab.opened("ben", url)
    assert lab.save("ben", url, theirs, **{one: first}).status_code == 302
    told = lab.save("ada", url, mine, **{one: second})
    assert told.status_code == 409
    assert lab.now(url)[one] == first
    assert "Changed by ben on " in told.text
    again = next(f for f in _posted(told.text) if one in f.names)
    assert " ".join(again.values[one]) == second, "what was typed is lost"
    # Mine counts where it is sent once more; theirs where that is chosen
    theirs_kept = lab.save("ada", url, again, **{f"keep-{_kept_as(one)}": "theirs"})
    assert theirs_kept.status_code == 302
    assert lab.now(url)[one] == first
    assert lab.save("ada", url, again).status_code == 302
    assert lab.now(url)[one] == second


def _kept_as(name: str) -> str:
    return "rules" if name.startswith("rules-") else name


def _posted(page: str) -> list[PageForm]:
    return [form for form in forms_of(page) if form.method == "post"]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ada", "ben"]),
        st.sampled_from(["open", "save"]),
        st.sampled_from([url for url in TWO if "set-up" in url]),
        st.integers(0, 1),
        st.integers(0, 1),
    ),
    min_size=4,
    max_size=10,
)


@given(STEPS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_two_forms_in_any_order(lab: Lab, steps: list[tuple[str, str, str, int, int]]) -> None:
    """Against a model: of each value what it was when the page was opened, what it is, and what is sent."""
    stored = {url: lab.now(url) for url in TWO if "set-up" in url}
    pages: dict[tuple[str, str], tuple[PageForm, dict[str, str]]] = {}
    for who, act, url, field, value in steps:
        if act == "open" or (who, url) not in pages:
            pages[who, url] = lab.opened(who, url), dict(stored[url])
            continue
        page, seen = pages[who, url]
        name = TWO[url][field]
        sent = FORMS[url][name][value]
        is_lost = stored[url][name] not in (seen[name], sent) and sent != seen[name]
        answer = lab.save(who, url, page, **{name: sent})
        assert answer.status_code == (409 if is_lost else 302), (url, name)
        if not is_lost and sent != seen[name]:
            stored[url][name] = sent
        assert lab.now(url) == stored[url]


def test_a_shorter_limit_is_not_undone_under_somebody_elses_reason(lab: Lab) -> None:
    lab.study.arms.all().delete()
    lab.study.survey_questions.all().delete()
    Study.objects.update(recruitment="open", min_rt_ms=5_000)
    people.enroll(Study.objects.get())
    url = f"{STUDY}set-up/rules/"
    mine, theirs = lab.opened("ada", url), lab.opened("ben", url)
    assert (
        lab.save("ben", url, theirs, min_rt_ms="3", reason="Pilots were quick").status_code == 302
    )
    assert lab.save("ada", url, mine, fast_page_ms="9", reason="Flags").status_code == 302
    study = Study.objects.get()
    assert (study.min_rt_ms, study.fast_page_ms, study.version) == (3_000, 9_000, 3)
    reasons = {v.reason: v.rules["min_rt_ms"] for v in study.versions.all()}
    assert reasons == {"": 5_000, "Pilots were quick": 3_000, "Flags": 3_000}
    told = lab.save("ada", url, mine, min_rt_ms="4", reason="Mine")
    assert told.status_code == 409
    assert "Changed by ben" in told.text
    assert Study.objects.get().version == 3


def test_a_page_without_the_hidden_field_changes_nothing_unseen(lab: Lab) -> None:
    url = f"{STUDY}set-up/general/"
    page = lab.opened("ada", url)
    told = lab.save("ada", url, page, opened=None, title="Forests")
    assert told.status_code == 409
    assert "does not say what it was opened with" in told.text
    assert lab.now(url)["title"] != "Forests"
    assert lab.save("ada", url, _posted(told.text)[-1]).status_code == 302
    assert lab.now(url)["title"] == "Forests"


def test_test_cases_are_not_replaced_over_somebody_elses_choice(lab: Lab) -> None:
    lab.study.arms.all().delete()
    url = f"{STUDY}set-up/items/"
    mine, theirs = lab.opened("ada", url), lab.opened("ben", url)
    every = list(Item.objects.accepted().filter(kind="test").values_list("key", flat=True))
    assert lab.save("ben", url, theirs, keys="\n".join(every[:8])).status_code == 302
    told = lab.save("ada", url, mine, keys="\n".join(every[4:]))
    assert (told.status_code, "Changed by ben" in told.text) == (409, True)
    drawn = set(lab.study.items.filter(kind="test").values_list("key", flat=True))
    assert drawn == set(every[:8])
    again = next(f for f in _posted(told.text) if "keys" in f.names and "collection" in f.names)
    assert lab.save("ada", url, again).status_code == 302
    assert set(lab.study.items.filter(kind="test").values_list("key", flat=True)) == set(every[4:])


BUTTONS = {
    "role": (f"{STUDY}members/MEMBER/role/", {"role": "auditor"}),
    "remove": (f"{STUDY}members/MEMBER/remove/", {}),
    "field_role": (f"{FIELD}people/LEAD/role/", {"role": "curator"}),
    "recruitment": (f"{STUDY}recruitment/state/", {"recruitment": "pilot"}),
    "arm": (f"{STUDY}set-up/arms/2/remove/", {}),
    "survey": (f"{STUDY}set-up/survey/question/text/remove/", {}),
    "subfield": (f"{FIELD}subfields/PK/remove/", {}),
}


@pytest.mark.parametrize("button", BUTTONS)
def test_a_button_does_nothing_to_what_it_has_not_shown(lab: Lab, button: str) -> None:
    cy = make_user("cy", lab.study)
    lab.research_field.members.add(cy, through_defaults={"role": "lead"})
    lab.places["MEMBER"] = str(lab.study.memberships.get(user=cy).pk)
    lab.places["LEAD"] = str(lab.research_field.memberships.get(user=cy).pk)
    url, sent = BUTTONS[button]
    mine = lab.opened("ada", url)
    changes: dict[str, tuple[str, dict[str, str]]] = {
        "role": (f"{STUDY}members/MEMBER/role/", {"role": "curator"}),
        "remove": (f"{STUDY}members/MEMBER/role/", {"role": "curator"}),
        "field_role": (f"{FIELD}people/LEAD/role/", {"role": "curator"}),
        "recruitment": (f"{STUDY}recruitment/state/", {"recruitment": "closed"}),
        "arm": (f"{STUDY}set-up/arms/2/", {"instructions": "Read slowly."}),
        "survey": (f"{STUDY}set-up/survey/question/text/", {"text": "Why so?"}),
        "subfield": (f"{FIELD}subfields/PK/", {"purpose": "To rise."}),
    }
    theirs, change = changes[button]
    assert lab.save("ben", theirs, lab.opened("ben", theirs), **change).status_code == 302
    if button == "field_role":  # back again, so that it could be done
        sent = {"role": "lead"}
    before = _rows()
    answer = Client.post(lab.people["ada"], lab.at(url), mine.filled(**sent), follow=True)
    assert "so nothing was done" in answer.text
    assert "Changed by ben" in answer.text
    assert _rows() == before


def _rows() -> list[Any]:
    study, field = Study.objects.get(), ResearchField.objects.get(slug="cooking")
    return [
        study.recruitment,
        list(study.memberships.order_by("pk").values_list("user", "role")),
        list(field.memberships.order_by("pk").values_list("user", "role")),
        list(study.arms.order_by("pk").values_list("name", "instructions")),
        list(study.survey_questions.values_list("name", "text")),
        list(field.subfields.values_list("name", "purpose")),
    ]


def test_a_renamed_question_is_still_found_by_the_page_that_was_opened(lab: Lab) -> None:
    url = f"{STUDY}set-up/survey/question/text/"
    mine, theirs = lab.opened("ada", url), lab.opened("ben", url)
    assert lab.save("ben", url, theirs, name="reason").status_code == 302
    assert lab.save("ada", url, mine, text="Why so?").status_code == 302
    question = lab.study.survey_questions.get()
    assert (question.name, question.text) == ("reason", "Why so?")


def test_a_test_case_is_resumed_only_by_somebody_who_has_seen_its_pause(lab: Lab) -> None:
    item = lab.study.items.filter(kind="test").first()
    assert item is not None
    url = f"{STUDY}test-cases/{item.pk}/pause/"
    lab.people["ben"].save(url, reason="A typo.")
    mine = lab.opened("ada", url)
    lab.people["ben"].save(url, reason="Mended.")
    lab.people["ben"].save(url, reason="Another typo.")
    answer = lab.save("ada", url, mine, reason="Mended.")
    assert answer.status_code == 302
    assert lab.study.study_items.get(item=item).paused_at is not None


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_only_one_of_two_saves_at_the_same_moment_succeeds() -> None:
    study = make_study()
    users = [make_user(name, study) for name in ("ada", "ben")]
    browsers = [Browser() for _ in users]
    for browser, user in zip(browsers, users, strict=True):
        browser.force_login(user)
    url = f"{STUDY}set-up/target/"
    for n in range(3):
        pages = [form_at(browser, url) for browser in browsers]
        sent = [
            page and page.filled(target_valid=str(100 + 10 * n + k)) for k, page in enumerate(pages)
        ]

        def send(browser: Browser, values: Any) -> int:
            return int(Client.post(browser, url, values).status_code)

        answers = at_once([partial(send, *each) for each in zip(browsers, sent, strict=True)])
        assert sorted(answers) == [302, 409]
    assert AuditEvent.objects.filter(action="study_changed").count() == 3
