"""How many participants begin from one address, and which of them hold a place while they have not answered a trial.

Counted at consent alone: before it nothing of a visitor is stored. Of an address only a keyed hash is kept, beside a number,
for a day, under the ten minutes of the clock in which they began: no time that a participant's row has too.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, When
from django.utils.formats import date_format

from experiment.domain.assignment import QUESTION
from experiment.models import Arrivals, Participant, Study
from experiment.services.sign_in import key_of
from lib.formatting import count, number
from lib.locks import hold

WITHIN = timedelta(minutes=10)
KEPT = timedelta(days=1)
# A couple or a family at one address are believed at once; of a class, all others once they have read and answered a trial
MOST_WAITING = 3
# For so long somebody who has agreed may read a page, or have it open, before the place is another's; and all pages before the
# end of the first trial, which a program can send and keep open as well
PLACE = timedelta(minutes=5)
LONGEST_PLACE = 3 * PLACE
# Whatever a study's rules say, nobody reads a trial in less
READS_FOR_MS = 5_000
MANY = 5  # at one address; fewer are not worth a sentence


def note(study: Study, address: str, now: datetime, *, by_link: bool) -> int:
    """Count one who has agreed; how many these are in these ten minutes of the clock and those before, this one included."""
    key = key_of("arrival", str(study.pk), address)
    hold("arrivals", key)
    since = _window(now)
    rows = Arrivals.objects.filter(study=study, key=key)
    around = dict(rows.filter(since__gte=since - WITHIN).values_list("since", "n"))
    if since in around:
        raised = rows.filter(since=since)
        raised.update(n=F("n") + 1, n_links=F("n_links") + int(by_link))
    else:
        forget(now)
        Arrivals.objects.create(study=study, key=key, since=since, n=1, n_links=int(by_link))
    return sum(around.values()) + 1


def _window(now: datetime) -> datetime:
    """The ten minutes of the clock that a moment is in."""
    return now - (now - datetime.min.replace(tzinfo=now.tzinfo)) % WITHIN


@transaction.atomic
def forget(now: datetime) -> None:
    old = Arrivals.objects.filter(since__lt=now - KEPT)
    # Two who forget at once do not wait for each other
    pks = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True))
    Arrivals.objects.filter(pk__in=pks).delete()


def give_place(participant: Participant, address: str, now: datetime, *, by_link: bool) -> None:
    """Until when this newcomer holds a place without having answered a trial. The caller saves."""
    n = note(participant.study, address, now, by_link=by_link)
    participant.place_until = now + PLACE if n <= MOST_WAITING else now


def keep_place(participant: Participant, now: datetime) -> None:
    """They have sent a page, and keep the place that they have. The caller saves."""
    if participant.place_until is not None and participant.place_until > now:
        participant.place_until = _until(participant, now)


def kept_open(participant: Participant, now: datetime) -> Case:
    """For an update: whose page is open keeps the place that they have."""
    until = _until(participant, now)
    return Case(When(place_until__gt=now, then=until), default=F("place_until"))


def _until(participant: Participant, now: datetime) -> datetime:
    return min(now + PLACE, (participant.consented_at or now) + LONGEST_PLACE)


def go_on(participant: Participant, stratum: str, server_ms: int | None) -> None:
    """They have answered a trial; who took the time to read it holds a place as long as they are there. The caller saves.

    By the server's time and the study's rules: what is "too fast" for them is no reading.
    """
    study = participant.study
    least_ms = study.question_min_rt_ms if stratum == QUESTION else study.min_rt_ms
    if server_ms is not None and server_ms >= max(least_ms, READS_FOR_MS):
        participant.place_until = None


@dataclass(frozen=True, slots=True)
class Burst:
    """Participants who began from one address in the ten minutes from `since` on; `n_links` by a link with an ID of their own."""

    n: int
    n_links: int
    since: datetime

    @property
    def told(self) -> str:
        since = date_format(self.since, "j M, H:i")
        return (
            f"{count(self.n, 'participant')} began from one address within 10 minutes, from {since} UTC on "
            f"({number(self.n_links, 0)} by links with an ID). A class or a laboratory shares an address, and so do programs: "
            "compare their times and flags."
        )


def largest(study: Study, now: datetime) -> Burst | None:
    """The largest burst of the last day; None where no address had many."""
    rows = study.arrivals.filter(since__gte=now - KEPT, n__gte=MANY).order_by("-n", "-since")
    found = rows.values_list("n", "n_links", "since").first()
    return None if found is None else Burst(*found)
