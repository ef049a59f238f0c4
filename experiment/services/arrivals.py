"""How many participants begin from one address, and which of them hold a place while they have not gone on.

Counted at consent alone: before it nothing of a visitor is stored. Of an address only a keyed hash is kept, beside a number,
for a day, under the ten minutes of the clock in which they began: no time that a participant's row has too.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Case, F, When

from experiment.models import Arrivals, Participant, Study
from experiment.services.sign_in import key_of
from lib.locks import hold

WITHIN = timedelta(minutes=10)
KEPT = timedelta(days=1)
# A couple or a family at one address are believed at once; of a class, all others once they have answered a page
MOST_WAITING = 3
# For so long somebody who has agreed may read the next page, or have it open, before the place is another's
PLACE = timedelta(minutes=5)
# Nobody answers a page so soon after having agreed
GOES_ON_AFTER = timedelta(seconds=5)
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
    """Until when this newcomer holds a place without going on. The caller saves."""
    n = note(participant.study, address, now, by_link=by_link)
    participant.place_until = now + PLACE if n <= MOST_WAITING else now


def go_on(participant: Participant, now: datetime) -> None:
    """They have answered a page, and hold their place as long as they are there. The caller saves."""
    agreed = participant.consented_at
    if participant.place_until is not None and agreed and now - agreed >= GOES_ON_AFTER:
        participant.place_until = None


def kept_open(now: datetime) -> Case:
    """For an update: whose page is open keeps the place that they have."""
    return Case(When(place_until__gt=now, then=now + PLACE), default=F("place_until"))


@dataclass(frozen=True, slots=True)
class Burst:
    """Participants who began from one address in the ten minutes from `since` on; `n_links` by a link with an ID of their own."""

    n: int
    n_links: int
    since: datetime


def largest(study: Study, now: datetime) -> Burst | None:
    """Of the last day; None where no address had many."""
    rows = study.arrivals.filter(since__gte=now - KEPT, n__gte=MANY).order_by("-n", "-since")
    found = rows.values_list("n", "n_links", "since").first()
    return None if found is None else Burst(*found)
