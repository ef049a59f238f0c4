"""Values that no page sends, sent in its forms: a refusal with a clear page, nothing stored, and never a 500."""

import re
import uuid

import pytest
from hypothesis import strategies as st

from benchmarks.trust.fuzz import forms, sending
from benchmarks.trust.fuzz.broken import MULTIPART, broken_request, multipart
from benchmarks.trust.fuzz.cases import Tally, for_each
from benchmarks.trust.fuzz.material import prepare
from experiment.models import Judgment, Participant, Study
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import ABOUT_ME, PAGES, open_page, stored
from tests.experiment.refusals import HUGE, assert_refused

pytestmark = pytest.mark.django_db
N_CASES = 120


def each(page: str, fields: str, values: str, status: int) -> list[tuple[str, str, str, int]]:
    """Each of these fields with each of these values; "_" is the empty one."""
    said = [HUGE if value == "HUGE" else value.strip("_") for value in values.split()]
    return [(page, field, value, status) for field in fields.split() for value in said]


# page, field, value that it refuses, status: 422 where a person can correct it, 400 where the page cannot send it
REFUSED = [
    *each("consent", "agree", "_ maybe", 422),
    *each("consent", "consent_sha256", f"_ {'0' * 64}", 409),
    *each("about-you", "gender", "_ robot FEMALE", 422),
    *each("about-you", "age_number", "_ 17 121 -34 34.5 1e3 abc HUGE", 422),
    *each("about-you", "country", "_ XX Germany", 422),
    *each("about-you", "position", "_ king", 422),
    *each(
        "about-you",
        "experience_years_number",
        "_ -1 91 1.23 NaN Infinity 1e400 1e999999999 abc HUGE",
        422,
    ),
    *each("trial", "confidence expertise", "0 101 -1 1.5 1e400 NaN abc 0x10 ½ HUGE", 400),
    *each(
        "trial",
        "rt_choice_ms rt_final_choice_ms rt_ms confidence_first_ms expertise_last_ms hidden_ms"
        " blur_count changes aid_switches reloads",
        "-1 0.5 1e400 abc 9999999999999 HUGE",
        400,
    ),
    *each("trial", "viewport_width viewport_height", "100001", 400),
    *each("trial", "translated", "yes NO HUGE", 400),
    *each("trial", "trial_token", str(uuid.uuid4()), 403),
    *each("debrief", "comments", "x" * 5_001, 422),
    *each("debrief", "comments", "a\x00", 400),
    *each("withdraw", "code", "x" * 101, 400),
    *each("withdraw", "code", "_ AAAA-AAAA-AAAA", 422),
]
for page in ("practice", "trial"):
    REFUSED += each(page, "trial_token", "17 {}", 400)
    REFUSED += each(page, "idempotency_key", "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", 400)
    REFUSED += each(page, "side", "C a AB", 400)
    REFUSED += each(page, "recognised", "maybe", 400)
    REFUSED += each(page, "trial_token idempotency_key side recognised", "_", 422)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_filled_in_as_asked_is_taken(study: Study, page: str) -> None:
    at = open_page(study, page)
    before = stored()
    assert at.send().status_code == (200 if page == "withdraw" else 303)
    assert stored() != before


@pytest.mark.parametrize("page", PAGES)
def test_values_that_a_field_does_not_take_are_refused_with_a_page_and_change_nothing(
    study: Study, page: str
) -> None:
    at = open_page(study, page)
    before = stored()
    for name, field, value, status in REFUSED:
        if name == page:
            response = at.send(**{field: value})
            assert response.status_code == status, (field, value[:20], response.status_code)
            assert_refused(response, status)
            assert stored() == before, (field, value[:20])


def test_a_multipart_form_is_read_like_any_other(study: Study) -> None:
    at = open_page(study, "trial")
    body = multipart([*at.fields.items()], {})
    assert at.client.generic("POST", at.address, body, MULTIPART).status_code == 303
    assert Judgment.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_requests_that_no_page_sends_are_refused_and_write_nothing() -> None:
    """Values, bodies, charsets, methods, headers, cookies and addresses as hypothesis draws them; more in `make trust`."""
    tally, visitors = Tally(), forms.People(prepare().study)

    def try_one(data: st.DataObject) -> None:
        form = visitors.form(data.draw(st.sampled_from(forms.PAGES)))
        sending._try(form, data.draw(broken_request(form.sent)), visitors, tally)

    for_each(st.data(), N_CASES, 11, try_one)
    assert tally.problems == []
    assert tally.refused > N_CASES / 4


@pytest.mark.parametrize(
    "comment",
    [
        "Ça va 👩🏽‍🔬 — مرحبا \u202eabc\u202c שלום 数字",
        "x" * 5_000,
        "👍" * 5_000,
        "<script>alert(1)</script> {{ x }} %s ' \" --",
        "one\ntwo\n\nthree",
        "\n".join(["a"] * 2_500),  # a line break counts once, as in the browser
    ],
    ids=["scripts", "longest", "astral", "code", "lines", "many lines"],
)
def test_comments_are_kept_as_they_were_typed(study: Study, comment: str) -> None:
    at = open_page(study, "debrief")
    sent_by_browsers = comment.replace("\n", "\r\n")
    assert at.send(comments=sent_by_browsers).status_code == 303
    assert Participant.objects.get().comments == comment


def test_a_comment_that_is_too_long_comes_back_whole_to_be_shortened(study: Study) -> None:
    at = open_page(study, "debrief")
    comment = "y" * 5_000 + "<"
    response = at.send(comments=comment)
    assert_refused(response, 422)
    assert "y" * 5_000 + "&lt;</textarea>" in response.content.decode()
    assert " checked" in response.content.decode()
    assert Participant.objects.get().stage == "debrief"


def test_digits_of_other_scripts_are_digits(study: Study) -> None:
    at = open_page(study, "about-you")
    fields = ABOUT_ME | {"age_number": "\uff13\uff14"}
    assert at.client.post(at.address, fields).status_code == 303
    assert Participant.objects.get().demographics["age"] == "34"


def test_a_refusal_keeps_the_values_that_were_filled_in(study: Study) -> None:
    at = open_page(study, "trial")
    text = at.send(side="", confidence="33", recognised="yes").content.decode()
    assert 'value="33"' in text
    assert re.search(r'value="yes" checked', text)
    assert hidden_fields(text)["trial_token"] == at.fields["trial_token"]
