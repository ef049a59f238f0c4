"""A state machine that takes participants through a study in every order; hypothesis chooses the steps."""

import random
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from hypothesis import seed as with_seed
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from benchmarks.trust.fuzz.cases import Tally, quietly
from benchmarks.trust.fuzz.cutting import KINDS, Clock, Fault, forget_process_state
from benchmarks.trust.fuzz.material import make_study
from benchmarks.trust.fuzz.person import FoundError, Person, Post, look
from experiment.models import Participant, Study, StudyItem
from experiment.services import audit, study_setup
from experiment.services.recounting import check
from experiment.services.study_setup import set_recruitment, word_consent

STEPS = 30
MOST_PEOPLE = 3
whom, numbers = st.integers(0, 9), st.integers(0, 10**6)
faults = st.one_of(st.none(), st.none(), st.tuples(st.sampled_from(KINDS), st.integers(1, 14)))
# A time-zone's clocks are set back or forth in these hours
SET_FORTH, SET_BACK = (
    datetime.fromisoformat("2026-03-29T00:59:58+00:00"),
    datetime.fromisoformat("2026-10-25T00:59:58+00:00"),
)
_names = count(1)


class Journeys(RuleBasedStateMachine):
    """Each example has a study of its own."""

    user: User
    steps = told = struck = 0

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.study = make_study(f"journey-{next(_names)}", self.user)
        self.people: list[Person] = []

    def teardown(self) -> None:
        type(self).told += sum(len(person.told) for person in self.people)
        type(self).struck += sum(person.struck for person in self.people)
        try:
            if drifts := check([self.study]):
                raise FoundError(f"counters: {drifts[:3]}")
            if broken := audit.verify():
                raise FoundError(f"audit trail: event {broken.number}: {broken.what}")
        finally:
            self.clock.stop()

    @invariant()
    def what_is_stored_is_what_was_told(self) -> None:
        type(self).steps += 1
        for person in self.people:
            look(person)

    def somebody(self, n: int) -> Person:
        return self.people[n % len(self.people)]

    @initialize(pages=st.lists(st.integers(0, 9), min_size=1, max_size=2), number=numbers)
    def some_are_on_their_way(self, pages: list[int], number: int) -> None:
        for done in pages:
            self._enter(number, None, True)
            for page in range(done):
                self._go_on(self.people[-1], number + page, None, True)

    @precondition(lambda self: len(self.people) < MOST_PEOPLE)
    @rule(number=numbers, fault=faults, is_heard=st.booleans())
    def enter(self, number: int, fault: Any, is_heard: bool) -> None:
        self._enter(number, fault, is_heard)

    def _enter(self, number: int, fault: Any, is_heard: bool) -> None:
        person = Person(self.study)
        known = set(self.study.participants.values_list("public_id", flat=True))
        self._go_on(person, number, fault, is_heard)
        new = Participant.objects.filter(study=self.study).exclude(public_id__in=known)
        if len(new) > 1:
            raise FoundError("one consent made several participants")
        for row in new:
            person.enrolled(row)
            self.people.append(person)

    @precondition(lambda self: self.people)
    @rule(n=whom, number=numbers, fault=faults, is_heard=st.sampled_from([True, True, False]))
    def go_on(self, n: int, number: int, fault: Any, is_heard: bool) -> None:
        """Fill in the page at hand and send it."""
        self._go_on(self.somebody(n), number, fault, is_heard)

    @precondition(lambda self: self.people)
    @rule(n=whom, number=numbers, steps=st.integers(2, 8))
    def hurry(self, n: int, number: int, steps: int) -> None:
        for step in range(steps):
            self._go_on(self.somebody(n), number + step, None, True)

    def _go_on(self, person: Person, number: int, fault: Any, is_heard: bool) -> None:
        if post := person.next_form(random.Random(number)):
            person.post(post, Fault(*fault) if fault else None, is_heard=is_heard)

    @precondition(lambda self: any(person.posts for person in self.people))
    @rule(
        n=whom,
        which=numbers,
        changed=st.sampled_from(["", "", "side", "idempotency_key", "trial_token"]),
    )
    def send_again(self, n: int, which: int, changed: str) -> None:
        """An earlier page, as from another tab: the same, or with something else in it."""
        person = self.somebody(n)
        if not person.posts:
            return
        post = person.posts[which % len(person.posts)]
        other = self._other(post, changed, person)
        person.post(Post(post.path, post.fields | other, post.by_script), is_heard=not changed)

    def _other(self, post: Post, changed: str, person: Person) -> dict[str, str]:
        value = post.fields.get(changed, "")
        if changed == "side":
            return {"side": "B" if value == "A" else "A"}
        if changed == "idempotency_key" and value:
            return {changed: value[::-1].replace("-", "")}
        if changed == "trial_token":
            tokens = [
                p.fields[changed]
                for each in self.people
                if each is not person
                for p in each.posts
                if changed in p.fields
            ]
            return {changed: tokens[-1]} if tokens else {}
        return {}

    @precondition(lambda self: self.people)
    @rule(n=whom, position=st.integers(0, 7), fault=faults)
    def look_elsewhere(self, n: int, position: int, fault: Any) -> None:
        """Reload, go back, or skip ahead by the address."""
        home = self.study.get_absolute_url()
        self.somebody(n).get(f"{home}trial/{position}/", Fault(*fault) if fault else None)

    @precondition(lambda self: self.people)
    @rule(n=whom)
    def come_back_by_code(self, n: int) -> None:
        """In another browser."""
        person = self.somebody(n)
        other = Person(self.study)
        path = f"{self.study.get_absolute_url()}return/"
        if post := other.fill(other.get(path), path, random.Random(n)):
            other.post(Post(path, {**post.fields, "code": person.code}))
            person.client = other.client

    @precondition(lambda self: self.people)
    @rule(n=whom, fault=faults)
    def withdraw(self, n: int, fault: Any) -> None:
        person = self.somebody(n)
        path = f"{self.study.get_absolute_url()}withdraw/"
        page = person.get(path)
        if post := person.fill(page, path, random.Random(n)):
            answer = person.post(
                Post(path, {**post.fields, "code": person.code, "confirm": "1"}),
                Fault(*fault) if fault else None,
            )
            person.wants_out |= answer.status_code == 200

    @rule(hours=st.sampled_from([-49, -2, -1, 1, 2, 25, 24 * 8, 24 * 40]))
    def set_clock(self, hours: int) -> None:
        self.clock.offset += timedelta(hours=hours)

    @rule(to=st.sampled_from([SET_FORTH, SET_BACK]))
    def set_clock_to_the_change_of_summer_time(self, to: datetime) -> None:
        self.clock.offset += to - self.clock.now()

    @rule(state=st.sampled_from([*Study.Recruitment]))
    def switch_recruitment(self, state: str) -> None:
        set_recruitment(self.study, state, by=self.user)

    @rule(language=st.sampled_from(["en", "de", "ar"]))
    def change_language(self, language: str) -> None:
        Study.objects.filter(pk=self.study.pk).update(language=language)

    @rule(number=numbers)
    def word_the_consent_anew(self, number: int) -> None:
        self.study.refresh_from_db()
        word_consent(
            self.study, f"You agree to take part. ({number})", "It was unclear.", self.user
        )

    @rule(number=whom, is_paused=st.booleans())
    def pause_or_resume_an_item(self, number: int, is_paused: bool) -> None:
        rows = list(StudyItem.objects.filter(study=self.study, item__kind="test").order_by("pk"))
        item = rows[number % 4].item  # enough of each stratum are left
        now = self.clock.now() if item.source == "human" and is_paused else None
        study_setup.set_paused(self.study, item, by=self.user, reason="Under review.", now=now)

    @rule()
    def forget_what_the_process_knows(self) -> None:
        forget_process_state()


def run(user: User, seed: int, n: int) -> Tally:
    """So many examples of up to STEPS steps."""
    Journeys.user, Journeys.steps, Journeys.told, Journeys.struck = user, 0, 0, 0
    tally = Tally()
    steps = settings(quietly(n), stateful_step_count=STEPS)
    try:
        run_state_machine_as_test(with_seed(seed)(Journeys), settings=steps)
    except Exception as error:  # noqa: BLE001 - whatever a step found
        steps_taken = " ".join(getattr(error, "__notes__", []))
        tally.fail(f"{type(error).__name__}: {error} {steps_taken[-400:]}")
    tally.cases, tally.taken, tally.refused = Journeys.steps, Journeys.told, Journeys.struck
    return tally
