"""Simulated participants that take the real pages of a running server over HTTP.

The server keeps its own clock: pages are taken in the simulated order as fast as it answers, and reading
times are what the form sends. The server's database is the one of this process: the pages do not say which side is
right, so this reads it there.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from html.parser import HTMLParser
from urllib.parse import urljoin, urlsplit

import httpx2

from experiment.domain.assignment import OPPOSITE, QUESTION
from experiment.domain.simulation import Script, TrialScript, after_advice
from experiment.domain.survey import COLUMN
from experiment.models import AdvisedTrial, Participant, Study, SurveyQuestion, Trial
from experiment.participant.forms import PREFER_NOT
from experiment.participant.identity import SIMULATED_PARAMETER, simulated_token
from experiment.participant.writing import MAX_ANSWER
from experiment.simulation.run import REVISING_MS
from experiment.simulation.survey import survey_answers

TIMEOUT_S = 60
JSON = "application/json"
NOT_AS_ASKED = 422
PRACTICE_ANSWER = {"confidence": "50", "expertise": "50", "recognised": "no"}


class PageError(Exception):
    """The server answered with something else than the next page."""


class _HiddenInputs(HTMLParser):
    """Collects a page's hidden form values."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "input" and given.get("type") == "hidden" and given.get("name"):
            self.values[given["name"] or ""] = given.get("value") or ""


class HttpDriver:
    """Acts as the pages' own script does: the answer to a form brings the next page along."""

    in_process = False

    def __init__(self, study: Study, base_url: str) -> None:
        self.study = study
        self.entry_url = urljoin(base_url, study.get_absolute_url())
        # As a browser, which has no key to give away
        self.http = httpx2.Client(follow_redirects=True, trust_env=False, timeout=TIMEOUT_S)
        self.url = ""
        self.hidden: dict[str, str] = {}

    def enter(self, script: Script, now: datetime) -> Script:
        self._open(self.entry_url, {SIMULATED_PARAMETER: simulated_token()})
        self._post({"agree": "yes"})
        # Nobody else is simulated in this study meanwhile
        entered = Participant.objects.of(self.study, Participant.Kind.SIMULATED)
        self.participant = entered.select_related("study", "arm").latest("pk")
        return script.of_length(self.participant.n_trials)

    def demographics(self, answers: dict[str, str], now: datetime) -> None:
        if self.url.endswith("/about-you/"):
            self._tell_about_themselves(answers)
        self._answer_survey(SurveyQuestion.Place.BEFORE)

    def _tell_about_themselves(self, answers: dict[str, str]) -> None:
        form: dict[str, str] = {}
        for name, value in answers.items():
            if name not in ("age", "experience_years"):
                form[name] = value
            elif value == PREFER_NOT:
                form[f"{name}_declined"] = "on"
            else:
                form[f"{name}_number"] = value
        self._post(form)

    def _answer_survey(self, place: SurveyQuestion.Place) -> None:
        if self.url.endswith(f"/questions-{place.value}/"):
            answers = survey_answers(self.participant, place)
            self._post({f"{COLUMN}{name}": value for name, value in answers.items()})

    def practise(self, now: datetime) -> None:
        for side in "AB":
            if self.url.endswith("/practice/"):
                self._post(PRACTICE_ANSWER | {"side": side})
            if side == "A" and "revises" in self.hidden:  # kept after the example of advice
                self._post({"side": side, "confidence": PRACTICE_ANSWER["confidence"]})
        if self.url.endswith("/start/"):
            self._post({})

    def show(self, position: int, now: datetime) -> None:
        if not self.url.endswith(f"/trial/{position}/"):
            raise PageError(f"expected trial {position}, but the server shows {self.url}")

    def answer(
        self, trial: TrialScript, *, is_right: Callable[[str], bool], key: uuid.UUID, now: datetime
    ) -> bool:
        trials = Trial.objects.select_related("item")
        read = trials.only("stratum", "original_side", "item__expert_answer")
        shown = read.get(token=self.hidden["trial_token"])
        if shown.stratum == QUESTION:
            self._write(trial, shown.item.expert_answer)
            return False
        other = OPPOSITE[shown.original_side]
        side = shown.original_side if is_right(shown.stratum) else other
        if row := AdvisedTrial.objects.filter(trial=shown).first():
            side, _key = after_advice(side, row.advice_side, key, trial.follows)
        self._post(
            {
                "side": side,
                "confidence": str(trial.confidence),
                "expertise": str(trial.expertise),
                "recognised": "yes" if trial.recognised else "no",
                "rt_choice_ms": str(round(0.8 * trial.rt_ms)),
                "rt_final_choice_ms": str(round(0.8 * trial.rt_ms)),
                "rt_ms": str(trial.rt_ms),
            }
        )
        self.trial = shown
        return "revises" in self.hidden

    def revise(self, trial: TrialScript, key: uuid.UUID, now: datetime) -> None:
        row = AdvisedTrial.objects.get(trial=self.trial)
        side, _key = after_advice(row.first_side, row.advice_side, key, trial.follows)
        rated = {"confidence": str(trial.confidence), "rt_ms": str(REVISING_MS)}
        self._post({"side": side, **rated})

    def _write(self, trial: TrialScript, expert_answer: str) -> None:
        text = trial.written(expert_answer, MAX_ANSWER)
        given = {"answer_text": text, "confidence": str(trial.confidence)}
        self._post(
            {
                **(given if text else {"abstained": "1"}),
                "answer_first_ms": str(round(0.3 * trial.rt_ms)),
                "answer_last_ms": str(round(0.8 * trial.rt_ms)),
                "rt_ms": str(trial.rt_ms),
            }
        )

    def finish(self, *, cheated: bool, now: datetime) -> None:
        self._answer_survey(SurveyQuestion.Place.AFTER)
        self._post({"comments": "", **({"cheated": "1"} if cheated else {})})

    def stay_until(self, now: datetime) -> None:
        """The server sees this participant at each step; there is no waiting in between."""

    def close(self) -> None:
        self.http.close()

    def _post(self, form: dict[str, str]) -> None:
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(self.url))
        headers = {"Referer": self.url, "Origin": origin}
        data = {**self.hidden, **form}
        answer = self.http.post(self.url, data=data, headers=headers | {"Accept": JSON})
        if answer.status_code == NOT_AS_ASKED:
            # The page that says what is wrong, as after the other side of the practice
            self._take(self.http.post(self.url, data=data, headers=headers).text)
            return
        _require_ok(answer)
        shown = answer.json()
        address = urljoin(self.url, shown["next"])
        if "page" in shown:
            self.url = address
            self._take(shown["page"])
        else:
            self._open(address)

    def _open(self, address: str, query: dict[str, str] | None = None) -> None:
        answer = self.http.get(address, params=query)
        _require_ok(answer)
        self.url = str(answer.url)
        self._take(answer.text)

    def _take(self, html: str) -> None:
        page = _HiddenInputs()
        page.feed(html)
        self.hidden = page.values


def _require_ok(answer: httpx2.Response) -> None:
    if answer.status_code != httpx2.codes.OK:
        request = answer.request
        raise PageError(f"{request.method} {request.url} answered {answer.status_code}")
