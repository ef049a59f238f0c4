"""The page of a question, over requests: what it shows, takes and refuses, with the page's script and without."""

import json
import re
import uuid
from typing import Any

import pytest
from django.http import HttpResponse
from django.utils import timezone

from experiment.models import Judgment, Participant, Study, WrittenAnswer
from experiment.participant.writing import MAX_ANSWER
from experiment.services import taking_part
from tests.experiment.asked import EXPERT, make_asking_study, open_question, position_of
from tests.experiment.people import AtPage, answer, client_of, enroll, finish, open_trial, start
from tests.factories import make_study

pytestmark = pytest.mark.django_db
JSON = {"accept": "application/json"}


@pytest.fixture
def study() -> Study:
    return make_asking_study()


def at_question(study: Study) -> AtPage:
    person = start(study)
    return open_question(answer(person, until=position_of(person, "question") - 1))


def shown(at: AtPage) -> str:
    return at.client.get(at.address).content.decode()


def stored() -> tuple[WrittenAnswer, Judgment]:
    [found] = WrittenAnswer.objects.select_related("judgment")
    return found, found.judgment


def test_the_page_asks_and_never_tells_the_experts_answer(study: Study) -> None:
    at = at_question(study)
    page = shown(at)
    assert re.search(r"What happens to dough no. \d &lt;overnight&gt;\?", page)
    assert 'name="answer_text"' in page
    assert "I do not know" in page
    assert "Task " in page
    for name in ('name="side"', 'name="expertise"', 'name="recognised"'):
        assert name not in page.replace("expertise_", "")
    pages = [
        page,
        at.client.get(f"{study.get_absolute_url()}debrief/", follow=True).content.decode(),
    ]
    pages.append(at.send(answer_text="").content.decode())
    assert not any(EXPERT[:20] in text for text in pages)


def test_the_experts_answer_is_in_no_page_to_the_end(study: Study) -> None:
    person = start(study)
    client = client_of(person)
    texts = []
    for position in range(1, study.n_trials + 1):
        person.refresh_from_db()
        at = open_question(person) if person.is_asked(position) else open_trial(person)
        texts.append(client.get(at.address).content.decode())
        reply = client.post(at.address, at.fields, headers=JSON)
        texts.append(json.loads(reply.content)["page"])
    assert "You answered <strong>2 questions</strong>" in texts[-1]
    assert not any(EXPERT[:20] in text for text in texts)
    assert "2 of 2" in texts[-1]  # abstracts


def test_an_answer_is_stored_and_the_next_page_comes(study: Study) -> None:
    at = at_question(study)
    response = at.send(answer_text="  It rises,\r\nslowly. ")
    assert response.status_code == 303
    written, judgment = stored()
    assert (written.text, written.abstained) == ("It rises,\nslowly.", False)
    assert (written.first_ms, written.last_ms) == (9_000, 61_000)
    assert (judgment.correct, judgment.side, judgment.confidence) == (None, "", 70)
    assert (judgment.confidence_moved, judgment.expertise_moved) == (True, False)
    assert (judgment.rt_ms, judgment.rt_choice_ms, judgment.changes) == (75_250, None, 2)
    assert (judgment.recognised, judgment.expertise) == (None, None)


def test_a_script_gets_the_next_page_with_it_and_may_send_again(study: Study) -> None:
    at = at_question(study)
    first = at.client.post(at.address, at.fields, headers=JSON)
    assert first.status_code == 200
    assert "page" in first.json()
    again = at.client.post(at.address, at.fields, headers=JSON)
    assert again.json()["next"] == first.json()["next"]
    assert stored()[0].text == "It rises."
    other = at.client.post(
        at.address, at.fields | {"idempotency_key": str(uuid.uuid4())}, headers=JSON
    )
    assert other.status_code == 409
    assert stored()[0].text == "It rises."


def test_who_does_not_know_needs_no_text_and_is_not_asked_how_sure(study: Study) -> None:
    Study.objects.update(ratings_required=True)
    at = at_question(study)
    # A slider that was moved before says nothing
    assert at.send(answer_text="", abstained="1", confidence="40").status_code == 303
    written, judgment = stored()
    assert (written.text, written.abstained) == ("", True)
    assert (judgment.confidence, judgment.confidence_moved) == (None, False)
    assert (judgment.confidence_first_ms, judgment.confidence_last_ms) == (None, None)


REFUSED: dict[str, dict[str, Any]] = {
    "nothing": {"answer_text": ""},
    "blanks": {"answer_text": " \r\n "},
    "both": {"abstained": "1"},
    "too long": {"answer_text": "x" * (MAX_ANSWER + 1)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_stands_beside_the_answer_which_is_kept(study: Study, name: str) -> None:
    at = at_question(study)
    response = at.send(**REFUSED[name])
    assert response.status_code == (400 if name == "too long" else 422)
    page = response.content.decode()
    assert re.search(r'id="answer_text-error" role="alert">[^<]{10,}<', page)
    assert 'aria-invalid="true" autofocus' in page
    given = REFUSED[name].get("answer_text", at.fields["answer_text"]).strip()
    assert given[:1] in page
    assert "Error:" in page
    assert not WrittenAnswer.objects.exists()


def test_the_longest_answer_is_taken_however_line_breaks_are_sent(study: Study) -> None:
    text = ("\n" * 10).join("x" * (MAX_ANSWER // 2 - 5) for _ in range(2))
    assert len(text) == MAX_ANSWER
    assert at_question(study).send(answer_text=text.replace("\n", "\r\n")).status_code == 303
    assert stored()[0].text == text


def test_a_rating_that_is_left_out_is_reminded_of_once_and_the_text_stays(study: Study) -> None:
    at = at_question(study)
    response = at.send(confidence="")
    assert response.status_code == 422
    page = response.content.decode()
    assert "You have not rated this." in page
    assert ">It rises.</textarea>" in page
    assert at.send(confidence="", reminded="1").status_code == 303
    assert stored()[1].confidence is None


def test_an_answer_to_the_form_of_an_abstract_is_refused(study: Study) -> None:
    at = at_question(study)
    response = at.client.post(at.address, {"side": "A", "recognised": "no", **keys(at)})
    assert response.status_code == 422
    assert not WrittenAnswer.objects.exists()


def keys(at: AtPage) -> dict[str, str]:
    return {name: at.fields[name] for name in ("trial_token", "idempotency_key")}


@pytest.mark.parametrize("position", ["0", "99", "9223372036854775808"])
def test_a_place_that_is_not_in_the_plan_is_refused(study: Study, position: str) -> None:
    at = at_question(study)
    home = study.get_absolute_url()
    response = at.client.post(f"{home}trial/{position}/", at.fields)
    assert response.status_code in (404, 409, 422)
    assert not WrittenAnswer.objects.exists()


def test_others_questions_are_not_mine_to_answer(study: Study) -> None:
    at, mine = at_question(study), at_question(study)
    response = mine.client.post(mine.address, at.fields)
    assert response.status_code in (403, 409)
    assert not WrittenAnswer.objects.exists()


def test_the_page_is_german_where_the_study_is(study: Study) -> None:
    Study.objects.update(language="de")
    page = shown(at_question(study))
    assert "Ich weiß es nicht" in page
    assert "I do not know" not in page


def test_consent_says_what_is_stored_of_questions_where_there_are_any(study: Study) -> None:
    asking = consent(study)
    assert "Of each question: what you write" in asking
    assert "You answer <strong>2 questions</strong>" in asking
    assert "You judge <strong>3 abstracts</strong>" in asking
    plain = consent(make_study(recruitment="open"))
    assert "question: what you write" not in plain
    assert "in your own words" not in plain


def consent(study: Study) -> str:
    return client_of().get(study.get_absolute_url()).content.decode()


def test_questions_alone_come_without_a_practice() -> None:
    study = make_asking_study(counts=(0, 0, 0))
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    client = client_of(person)
    page = client.get(study.get_absolute_url(), follow=True).content.decode()
    assert "You will answer <strong>2 questions</strong>" in page
    assert '<label for="progress">Now it starts</label>' in page
    assert "abstract" not in page.split("<main", 1)[1].split("</main>")[0]
    response = client.post(f"{study.get_absolute_url()}start/")
    assert response["Location"].endswith("/trial/1/")
    page = client.get(response["Location"]).content.decode()
    assert "Question 1 of 2" in page
    person.refresh_from_db()
    answer(person, until=2)
    debrief = client.get(f"{study.get_absolute_url()}debrief/").content.decode()
    assert "You answered <strong>2 questions</strong>" in debrief
    assert "of 0" not in debrief


def test_ones_own_words_are_shown_to_who_asks_what_is_stored(study: Study) -> None:
    person = finish(study)
    response = ask_what_is_held(person)
    page = response.content.decode()
    assert page.count('<q class="written">It rises.</q>') == 2
    assert EXPERT[:20] not in page


def ask_what_is_held(person: Participant) -> HttpResponse:
    address = f"{person.study.get_absolute_url()}withdraw/"
    return client_of(person).post(address, {"code": person.withdrawal_code})


def test_pages_of_a_study_without_questions_say_nothing_of_them() -> None:
    study = make_study(recruitment="open")
    at = open_trial(start(study))
    page = at.client.get(at.address).content.decode()
    assert "Abstract 1 of 11" in page
    for text in ("answer_text", "Question 1", "Task 1", "own words"):
        assert text not in page
