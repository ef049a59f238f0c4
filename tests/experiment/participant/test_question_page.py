"""The page of a question, over requests: what it shows, takes and refuses, with the page's script and without."""

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from experiment.models import Judgment, Study, WrittenAnswer
from experiment.participant.writing import MAX_ANSWER
from experiment.services import taking_part
from tests.experiment.asked import EXPERT, make_asking_study, open_question, position_of
from tests.experiment.people import (
    AtPage,
    answer,
    client_of,
    come,
    enroll,
    finish,
    open_trial,
    start,
)
from tests.factories import make_study

pytestmark = pytest.mark.django_db
JSON = {"accept": "application/json"}


@pytest.fixture
def study() -> Study:
    return make_asking_study()


def at_question(study: Study) -> AtPage:
    person = start(study)
    return open_question(answer(person, until=position_of(person, "question") - 1))


def stored() -> tuple[WrittenAnswer, Judgment]:
    [found] = WrittenAnswer.objects.select_related("judgment")
    return found, found.judgment


def test_the_page_asks_and_tells_the_experts_answer_neither_now_nor_to_the_end(
    study: Study,
) -> None:
    person = start(study)
    client = client_of(person)
    texts = []
    for position in range(1, study.n_trials + 1):
        person.refresh_from_db()
        at = open_question(person) if person.is_asked(position) else open_trial(person)
        texts.append(client.get(at.address).content.decode())
        if person.is_asked(position):
            assert re.search(r"What happens to dough no. \d &lt;overnight&gt;\?", texts[-1])
            assert 'name="answer_text"' in texts[-1]
            assert "I do not know" in texts[-1]
            for name in ('name="side"', 'name="expertise"', 'name="recognised"'):
                assert name not in texts[-1]
            texts.append(at.send(answer_text="").content.decode())
        reply = client.post(at.address, at.fields, headers={"accept": "application/json"})
        texts.append(json.loads(reply.content)["page"])
    assert "You answered <strong>2 questions</strong>" in texts[-1]
    assert "2 of 2" in texts[-1]  # abstracts
    assert not any(EXPERT[:20] in text for text in texts)


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


def test_an_abstention_needs_no_text_and_no_confidence(study: Study) -> None:
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
def test_problems_are_shown_beside_the_answer_which_is_kept(study: Study, name: str) -> None:
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
    assert "You have not answered this." in page
    assert ">It rises.</textarea>" in page
    assert at.send(confidence="", reminded="1").status_code == 303
    assert stored()[1].confidence is None


def test_an_answer_to_the_form_of_an_abstract_is_refused(study: Study) -> None:
    at = at_question(study)
    names = ("trial_token", "idempotency_key")
    sent = {"side": "A", "recognised": "no"} | {name: at.fields[name] for name in names}
    assert at.client.post(at.address, sent).status_code == 422
    assert not WrittenAnswer.objects.exists()


def test_consent_says_what_is_stored_of_questions_where_there_are_any(study: Study) -> None:
    asking = come(study)
    assert "For each question: your answer" in asking
    assert "You answer <strong>2 questions</strong>" in asking
    assert "You judge <strong>3 abstracts</strong>" in asking
    plain = come(make_study(recruitment="open"))
    assert "question: your answer" not in plain
    assert "in your own words" not in plain


def test_questions_alone_come_without_a_practice() -> None:
    study = make_asking_study(counts=(0, 0, 0))
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    client = client_of(person)
    page = client.get(study.get_absolute_url(), follow=True).content.decode()
    assert "You will answer <strong>2 questions</strong>" in page
    assert '<label for="progress">The study starts now</label>' in page
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


def test_stored_words_are_shown_to_the_participant_who_asks_for_them(study: Study) -> None:
    person = finish(study)
    address = f"{study.get_absolute_url()}withdraw/"
    shown = client_of(person).post(address, {"code": person.withdrawal_code})
    page = shown.content.decode()
    assert page.count('<q class="written">It rises.</q>') == 2
    assert EXPERT[:20] not in page


def test_pages_of_a_study_without_questions_say_nothing_of_them() -> None:
    study = make_study(recruitment="open")
    at = open_trial(start(study))
    page = at.client.get(at.address).content.decode()
    assert "Abstract 1 of 11" in page
    for text in ("answer_text", "Question 1", "Task 1", "own words"):
        assert text not in page
