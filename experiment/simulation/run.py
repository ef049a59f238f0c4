"""Simulated participants take a study, through the same services as people, on a simulated clock."""

import heapq
import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from django.db import transaction
from django.utils import timezone

from experiment.domain.assignment import OPPOSITE, QUESTION, participant_rng
from experiment.domain.simulation import (
    FOLLOWS,
    Arrival,
    Script,
    TrialScript,
    after_advice,
    draw_arrivals,
    draw_scripts,
)
from experiment.models import AdvisedTrial, Arm, Judgment, Participant, Study, SurveyQuestion
from experiment.models.arms import trial_counts
from experiment.participant.writing import MAX_ANSWER
from experiment.services import consenting, counting, drawing, taking_part
from experiment.services.advisers import freeze_to_try
from experiment.services.arms import groups_of
from experiment.services.counts import Exposures, exposures, item_exposures
from experiment.simulation.survey import survey_answers

# A commit per so many pages: SQLite waits for the disk at each.
PAGES_PER_COMMIT = 100
REVISING_MS = 8_000

DEMOGRAPHICS: dict[str, tuple[str, ...]] = {
    "gender": ("female", "male", "prefer_not_to_say"),
    "age": tuple(str(age) for age in range(22, 66)),
    "country": ("DE", "ES", "GB", "JP", "US"),
    "position": ("doctoral_student", "postdoctoral_researcher", "faculty", "predoctoral_student"),
    "experience_years": tuple(str(years) for years in range(31)),
}


class Driver(Protocol):
    """How a simulated participant acts: through the services, or through the pages over HTTP."""

    # Whether steps may share this process's transactions; a server must see every step at once.
    in_process: bool

    def enter(self, script: Script, now: datetime) -> Script: ...
    def demographics(self, answers: dict[str, str], now: datetime) -> None: ...
    def practise(self, now: datetime) -> None: ...
    def show(self, position: int, now: datetime) -> None: ...
    def answer(
        self, trial: TrialScript, *, is_right: Callable[[str], bool], key: uuid.UUID, now: datetime
    ) -> bool:
        """Answer the trial; True if the page with advice about it comes next."""

    def revise(self, trial: TrialScript, key: uuid.UUID, now: datetime) -> None: ...
    def finish(self, *, cheated: bool, now: datetime) -> None: ...
    def stay_until(self, now: datetime) -> None: ...
    def close(self) -> None: ...


class ServiceDriver:
    """Acts through the services, at the simulated time."""

    in_process = True

    def __init__(self, study: Study, policy: str) -> None:
        self.study, self.policy = study, policy
        self.consent_sha256 = study.consent.sha256 if study.consent else ""

    def enter(self, script: Script, now: datetime) -> Script:
        self.participant = consenting.enroll(
            self.study,
            kind=lambda: Participant.Kind.SIMULATED,
            consent_sha256=self.consent_sha256,
            key=uuid.uuid4(),  # one of its own, although other studies may be simulated with the same seed
            now=now,
            seed=script.seed,
            policy=self.policy,
        )
        self.stored: Judgment | AdvisedTrial | None = None
        return script.of_length(self.participant.n_trials)

    def demographics(self, answers: dict[str, str], now: datetime) -> None:
        if self.participant.stage == Participant.Stage.DEMOGRAPHICS:
            self.participant = taking_part.save_demographics(self.participant, answers, now)
        self._answer_survey(SurveyQuestion.Place.BEFORE, now)

    def _answer_survey(self, place: SurveyQuestion.Place, now: datetime) -> None:
        if answers := survey_answers(self.participant, place):
            self.participant = taking_part.save_survey(self.participant, place, answers, now)

    def practise(self, now: datetime) -> None:
        if self.participant.judges_abstracts:
            taking_part.attempt_practice(
                self.participant, taking_part.practice_side(self.participant), now
            )
        # The page that says how many trials come is left at once
        taking_part.start_trials(self.participant, now)

    def show(self, position: int, now: datetime) -> None:
        counting.sweep_if_due(self.participant.study, self.participant.kind, now)
        self.trial = drawing.show_trial(self.participant, position, now)

    def answer(
        self, trial: TrialScript, *, is_right: Callable[[str], bool], key: uuid.UUID, now: datetime
    ) -> bool:
        shown = self.trial
        if shown.stratum == QUESTION:
            self._write(trial, key, now)
            return False
        side = shown.original_side if is_right(shown.stratum) else OPPOSITE[shown.original_side]
        if row := shown.given_advice:
            side, _key = after_advice(side, row.advice_side, key, trial.follows)
        answer = taking_part.Answer(
            side=side,
            confidence=trial.confidence,
            expertise=trial.expertise,
            confidence_moved=True,
            expertise_moved=True,
            recognised=trial.recognised,
            rt_choice_ms=round(0.8 * trial.rt_ms),
            rt_final_choice_ms=round(0.8 * trial.rt_ms),
            rt_ms=trial.rt_ms,
        )
        sent = taking_part.Sent(shown.position, shown.token, key, answer, now)
        self.stored = taking_part.judge(self.participant, sent)
        if isinstance(self.stored, AdvisedTrial):
            drawing.show_trial(self.participant, shown.position, now)
        return isinstance(self.stored, AdvisedTrial)

    def revise(self, trial: TrialScript, key: uuid.UUID, now: datetime) -> None:
        row = self.stored
        assert isinstance(row, AdvisedTrial)
        assert row.token is not None
        side, key = after_advice(row.first_side, row.advice_side, key, trial.follows)
        answer = taking_part.Answer(
            side, trial.confidence, confidence_moved=True, rt_ms=REVISING_MS
        )
        sent = taking_part.Sent(row.trial.position, row.token, key, answer, now, revises=True)
        taking_part.judge(self.participant, sent)

    def _write(self, trial: TrialScript, key: uuid.UUID, now: datetime) -> None:
        shown = self.trial
        text = trial.written(shown.item.expert_answer, MAX_ANSWER)
        answer = taking_part.Answer(
            side="",
            confidence=trial.confidence if text else None,
            confidence_moved=bool(text),
            rt_ms=trial.rt_ms,
        )
        begun, ended = (round(share * trial.rt_ms) for share in (0.3, 0.8))
        written = taking_part.Written(text, not text, begun, ended)
        sent = taking_part.Sent(shown.position, shown.token, key, answer, now, written)
        taking_part.judge(self.participant, sent)

    def finish(self, *, cheated: bool, now: datetime) -> None:
        self._answer_survey(SurveyQuestion.Place.AFTER, now)
        taking_part.finish(self.participant, cheated=cheated, comments="", now=now)

    def stay_until(self, now: datetime) -> None:
        # An open page pings until it is left; the last ping says as much as all of them.
        taking_part.touch(self.participant, now)

    def close(self) -> None:
        """Nothing is open."""


class SimulatedParticipant:
    """Takes one script through the pages, one at a time."""

    def __init__(self, script: Script, driver: Driver, study: Study) -> None:
        self.script, self.driver, self.study, self.page = script, driver, study, -1
        self.rng = participant_rng(script.seed, "behaviour")
        self.revising: uuid.UUID | None = None  # key of the answer before the advice at hand

    def step(self, now: datetime) -> datetime | None:
        """Leave the page at hand for the next one; when they will leave that, or None if there is no more."""
        self._leave_page(now)
        if self.revising:
            until = now + timedelta(milliseconds=REVISING_MS)
            self.driver.stay_until(until)
            return until
        self.page += 1
        if self.page == len(self.script.page_ms):
            return None
        if 2 <= self.page < len(self.script.page_ms) - 1:
            self.driver.show(self.page - 1, now)
        stays_ms = float(self.script.page_ms[self.page])
        gives_up = self.script.leaves_on == self.page
        if gives_up:
            stays_ms *= self.script.stays
        until = now + timedelta(milliseconds=stays_ms)
        self.driver.stay_until(until)
        return None if gives_up else until

    def _leave_page(self, now: datetime) -> None:
        last = len(self.script.page_ms) - 1
        if self.page == -1:
            self.script = self.driver.enter(self.script, now)
        elif self.page == 0:
            self.driver.demographics(self._demographics(), now)
        elif self.page == 1:
            self.driver.practise(now)
        elif self.page == last:
            self.driver.finish(cheated=self.script.cheats, now=now)
        elif self.revising:
            self.driver.revise(self.script.trials[self.page - 2], self.revising, now)
            self.revising = None
        else:
            self._answer(self.script.trials[self.page - 2], now)

    def _answer(self, trial: TrialScript, now: datetime) -> None:
        key = uuid.UUID(int=self.rng.getrandbits(128), version=4)

        def is_right(stratum: str) -> bool:
            return not self.script.misses_catch if stratum == "catch" else trial.correct

        has_advice = self.driver.answer(trial, is_right=is_right, key=key, now=now)
        self.revising = key if has_advice else None

    def _demographics(self) -> dict[str, str]:
        return {name: self.rng.choice(DEMOGRAPHICS[name]) for name in self.study.demographic_fields}


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan of the simulation."""

    finish: int
    dropout: float
    arrival: Arrival
    accuracy: float
    seed: int
    follows: float = FOLLOWS  # chance to follow advice


def simulate(study: Study, plan: Plan, new_driver: Callable[[], Driver]) -> Iterator[int]:
    """Run the simulation; yields the number of pages seen so far, of `count_steps` in all.

    Simulated time ends now, so that no simulated participant is live afterwards.
    """
    freeze_to_try(study, timezone.now())
    rng = random.Random(f"simulation/{plan.seed}")
    scripts = _scripts(study, plan, rng)
    arrivals = draw_arrivals(scripts, plan.arrival, rng)
    end_s = max(at + script.present_ms / 1000 for at, script in zip(arrivals, scripts, strict=True))
    end_s += REVISING_MS / 1000 * _revisions_each(study, scripts)
    start = timezone.now() - timedelta(seconds=end_s, minutes=study.live_minutes + 1)
    queue = [(start + timedelta(seconds=at), n) for n, at in enumerate(arrivals)]
    heapq.heapify(queue)
    people = [SimulatedParticipant(script, new_driver(), study) for script in scripts]
    done = 0
    while queue:
        with transaction.atomic() if people[0].driver.in_process else nullcontext():
            for _ in range(min(PAGES_PER_COMMIT, len(queue))):
                now, n = heapq.heappop(queue)
                until = people[n].step(now)
                if until is None:
                    people[n].driver.close()
                else:
                    heapq.heappush(queue, (until, n))
                done += 1
        yield done


def _scripts(study: Study, plan: Plan, rng: random.Random) -> list[Script]:
    """Scripts for as many trials as the longest arm has: a participant in a shorter one skips the rest."""
    longest = max(sum(trial_counts(study, arm).values()) for arm in groups_of(study))
    drawn = draw_scripts(plan.finish, plan.dropout, plan.accuracy, longest, rng)
    return [
        replace(script, trials=tuple(replace(one, follows=plan.follows) for one in script.trials))
        for script in drawn
    ]


def _revisions_each(study: Study, scripts: Sequence[Script]) -> int:
    """Pages that show a participant advice after an answer, at most."""
    has_revisions = study.arms.filter(advice=Arm.Advice.AFTER).exists()
    return max(len(script.trials) for script in scripts) if has_revisions else 0


def count_steps(study: Study, plan: Plan) -> int:
    """Pages that `simulate` will show, for a progress bar; at most, where arms differ in their trials or advice."""
    scripts = _scripts(study, plan, random.Random(f"simulation/{plan.seed}"))
    pages = (len(s.page_ms) + 1 if s.leaves_on is None else s.leaves_on + 1 for s in scripts)
    return sum(pages) + len(scripts) * _revisions_each(study, scripts)


@dataclass(frozen=True, slots=True)
class FlowCounts:
    started: int
    finished: int
    valid: int


def count_flow(study: Study) -> FlowCounts:
    people = Participant.objects.of(study, Participant.Kind.SIMULATED)
    return FlowCounts(people.count(), people.finished().count(), people.valid().count())


def simulated_exposures(study: Study) -> list[Exposures]:
    """How evenly the simulated participants judged the items."""
    return exposures(item_exposures(study, Participant.Kind.SIMULATED, timezone.now()))
