"""Participants who do what the page's script does: send an answer until the site says that it has it, and note that it did."""

import asyncio
import html
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Lock, Thread
from urllib.parse import urlencode

from benchmarks.web.client import REDIRECTS, Client, DroppedError, Record

ABOUT = {"gender": "female", "country": "GB", "position": "faculty"}
RATED = {"confidence": "70", "expertise": "9", "recognised": "no"}
MEASURES = {
    "rt_choice_ms": "61000",
    "rt_final_choice_ms": "64000",
    "rt_ms": "75250",
    "confidence_first_ms": "66000",
    "confidence_last_ms": "68000",
    "expertise_first_ms": "70000",
    "expertise_last_ms": "70000",
    "changes": "1",
    "aid_switches": "0",
    "blur_count": "0",
    "hidden_ms": "0",
    "reloads": "0",
    "viewport_width": "1280",
    "viewport_height": "800",
    "translated": "no",
}
INPUT = re.compile(r"<input\b[^>]*>")
ATTRIBUTE = re.compile(r'\b(type|name|value)="([^"]*)"')
SENT_BY_SCRIPT = re.compile(
    r"\bdata-(?:trial|turns)\b"
)  # forms that the page's script sends itself
AGAIN_S = 0.25  # the page's script waits 1 s, then longer
PATIENCE_S = 120.0  # after which a participant gives up, and the check has failed
UNPROCESSABLE, BAD, GONE = 422, 500, 503
JSON, HTML = "application/json", "text/html"
MOST_REDIRECTS = 20  # as browsers follow


@dataclass(frozen=True, slots=True)
class Sent:
    """An answer as its participant gave it."""

    person: int
    position: int
    side: str
    confidence: int
    expertise: int


@dataclass
class Ledger:
    """A ledger of what participants were told, kept outside the site. Times are of `time.monotonic`."""

    acknowledged: dict[str, Sent] = field(default_factory=dict)  # by idempotency key
    finished: int = 0  # participants who were told so
    problems: list[str] = field(default_factory=list)
    record: Record = field(default_factory=Record)
    connect: Callable[[int, Record], Client] = Client  # of each browser to a port
    numbers: Iterator[int] = field(default_factory=count)  # of people, whenever they come
    newest: float = 0.0  # when the last answer was acknowledged
    # For each page or answer, what was sent again included; and from leaving a page to having the next one
    waited_s: list[float] = field(default_factory=list)
    page_s: list[float] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)
    _marks: list[tuple[int, Event]] = field(default_factory=list)

    def acknowledge(self, key: str, sent: Sent) -> None:
        with self._lock:
            if (before := self.acknowledged.get(key)) not in (None, sent):
                self.problems.append(f"{before} was acknowledged once more as {sent}")
            self.acknowledged[key] = sent
            self.newest = time.monotonic()
            for at, reached in self._marks:
                if len(self.acknowledged) >= at:
                    reached.set()

    def wait_for(self, n_more: int, within_s: float = PATIENCE_S) -> float:
        """Wait for so many more acknowledged answers; the seconds that it took."""
        reached, started = Event(), time.monotonic()
        with self._lock:
            self._marks.append((len(self.acknowledged) + n_more, reached))
        if not reached.wait(within_s):
            self.problems.append(
                f"{n_more} more answers were not acknowledged within {within_s:.0f} s"
            )
        return time.monotonic() - started

    def with_all(self, other: "Ledger") -> "Ledger":
        """This ledger and one of other people on the same database."""
        both = Ledger(self.acknowledged | other.acknowledged, self.finished + other.finished)
        both.problems = self.problems + other.problems
        both.record.statuses = self.record.statuses + other.record.statuses
        return both

    @property
    def errors(self) -> int:
        return self.record.statuses[BAD]

    @property
    def unavailable(self) -> int:
        return self.record.statuses[GONE]


class StrayedError(Exception):
    """The site answered with something else than the next page."""


@dataclass(frozen=True, slots=True)
class Page:
    """The page that is open in a browser."""

    path: str = ""
    text: str = ""
    opened_at: float = field(default_factory=time.monotonic)

    def measures(self) -> dict[str, str]:
        """As `MEASURES`, of a person who was no longer here than this page was open."""
        open_ms = int(1000 * (time.monotonic() - self.opened_at))
        return {
            name: str(min(int(value), open_ms)) if name.endswith("_ms") else value
            for name, value in MEASURES.items()
        }


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden inputs of a page, which a browser sends along with what a person fills in."""
    found = (dict(ATTRIBUTE.findall(tag)) for tag in INPUT.findall(page))
    return {
        tag["name"]: html.unescape(tag.get("value", ""))
        for tag in found
        if tag.get("type") == "hidden" and "name" in tag
    }


class Person:
    """One participant in one browser. Even numbers have the page's script, odd ones no JavaScript, unless it is said."""

    # The status of a practice page whose answer was wrong, of a site that shows it without a redirect
    shown_again = 0

    def __init__(
        self,
        number: int,
        port: int,
        ledger: Ledger,
        think_s: float = 0.0,
        *,
        scripted: bool | None = None,
    ) -> None:
        self.number, self.ledger, self.think_s = number, ledger, think_s
        self.client = ledger.connect(port, ledger.record)
        self.scripted = number % 2 == 0 if scripted is None else scripted
        self.rng = random.Random(number)
        self.page = Page()

    async def take_part(self, entry: str) -> None:
        """From the study's link to the last page, whatever happens to the site meanwhile."""
        try:
            await self.begin(entry)
            while "/trial/" in self.page.path:
                await self.answer()
            await self.end()
        finally:
            self.client.close()

    async def begin(self, entry: str) -> None:
        """From the study's link to the first trial."""
        await self.open(entry)
        await self.leave({"agree": "yes"})
        await self.leave(ABOUT | {"age_number": "34", "experience_years_number": "9.5"})
        for side in "AB":
            await self.practise(side)
        self.expect("/start/")
        await self.leave({})

    async def practise(self, side: str) -> None:
        if "/practice/" in self.page.path:
            await self.leave({"side": side, "recognised": "no"} | self._ratings())

    async def end(self) -> None:
        """From the debrief to the last page."""
        self.expect("/debrief/")
        await self.leave({"comments": "Thank you"})
        self.expect("/done/")
        self.ledger.finished += 1

    async def answer(self) -> None:
        """Judge the trial of the present page; once the site has the answer the ledger has it too."""
        form, key, sent = self.judge()
        await self.leave(form, taken=lambda: self.ledger.acknowledge(key, sent))

    def judge(self) -> tuple[dict[str, str], str, Sent]:
        """The values that this person fills in on the trial's page, its key, and the same for the ledger."""
        ratings, side = self._ratings(), self.rng.choice("AB")
        key = hidden_fields(self.page.text)["idempotency_key"]
        position = int(self.page.path.rstrip("/").rpartition("/")[2])
        rated = int(ratings["confidence"]), int(ratings["expertise"])
        measures = self.page.measures() if self.scripted else {}
        form = {"side": side, "recognised": "no"} | ratings | measures
        return form, key, Sent(self.number, position, side, *rated)

    def _ratings(self) -> dict[str, str]:
        return {name: str(self.rng.randint(1, 100)) for name in ("confidence", "expertise")}

    def expect(self, part: str) -> None:
        if part not in self.page.path:
            raise StrayedError(
                f"person {self.number} expected {part}, the site shows {self.page.path}"
            )

    async def open(self, path: str) -> None:
        """A page, asked for until it comes."""
        status, headers, text = await self._insist("GET", path, None, HTML)
        for _ in range(MOST_REDIRECTS):
            if status not in REDIRECTS:
                break
            path = self.client.path_of(headers["location"])
            status, headers, text = await self._insist("GET", path, None, HTML)
        if status != 200:
            raise StrayedError(f"person {self.number}: {path} answered {status}")
        self.page = Page(path, text)

    async def leave(self, form: dict[str, str], taken: Callable[[], None] = lambda: None) -> None:
        """Send the page's form until the site has taken it, then open the next page.

        To the page's script the answer names the next page, and may bring it along; where it refuses, the script lets the
        browser send the form, for the page that says why.
        """
        await asyncio.sleep(self.think_s * self.rng.uniform(0.5, 1.5))
        began = time.perf_counter()
        body = urlencode(hidden_fields(self.page.text) | form).encode()
        path = self.page.path
        by_script = self.scripted and SENT_BY_SCRIPT.search(self.page.text) is not None
        status, headers, text = await self._insist("POST", path, body, JSON if by_script else HTML)
        if by_script and status == UNPROCESSABLE:
            status, headers, text = await self._insist("POST", path, body, HTML)
        if status in REDIRECTS:
            taken()
            await self.open(self.client.path_of(headers["location"]))
        elif status == 200 and by_script:
            taken()
            shown = json.loads(text)
            if shown.get("page") is not None:
                self.page = Page(shown["next"], shown["page"])
            else:
                await self.open(shown["next"])
        elif status == self.shown_again and "/practice/" in path.lower():
            self.page = Page(path, text)
        else:
            raise StrayedError(f"person {self.number}: POST {path} answered {status}")
        self.ledger.page_s.append(time.perf_counter() - began)

    async def _insist(
        self, method: str, path: str, body: bytes | None, accept: str
    ) -> tuple[int, dict[str, str], str]:
        """The same request until there is an answer that is no 503."""
        began = time.monotonic()
        while time.monotonic() < began + PATIENCE_S:
            try:
                answer = await self.client.ask(method, path, body, accept)
            except DroppedError:
                pass
            else:
                if answer[0] != GONE:
                    self.ledger.waited_s.append(time.monotonic() - began)
                    return answer
                if "retry-after" not in answer[1]:
                    self.ledger.problems.append(f"{method} {path}: 503 without Retry-After")
            await asyncio.sleep(AGAIN_S * self.rng.uniform(0.5, 1.5))
        raise StrayedError(f"person {self.number}: {method} {path} was never answered")


@contextmanager
def taking_part(
    n: int,
    port: int,
    entry: str,
    ledger: Ledger,
    *,
    think_s: float,
    spread_s: float,
    person: type[Person] = Person,
) -> Iterator[Ledger]:
    """`n` people on their way while the block strikes the site; at its end all of them walk on to their last page.

    Where they do not come one by one within `spread_s`, somebody else comes for each who is done while the block lasts: a
    machine may be so fast that the strike would meet nobody.
    """
    over = Event()
    thread = Thread(
        target=lambda: asyncio.run(_all(n, port, entry, ledger, think_s, spread_s, over, person)),
        daemon=True,
    )
    thread.start()
    try:
        yield ledger
    finally:
        over.set()
        thread.join(spread_s + 3 * PATIENCE_S)
        if thread.is_alive():
            ledger.problems.append("some participants never came to an end")


async def _all(
    n: int,
    port: int,
    entry: str,
    ledger: Ledger,
    think_s: float,
    spread_s: float,
    over: Event,
    person: type[Person],
) -> None:
    async def one() -> bool:
        one = person(next(ledger.numbers), port, ledger, think_s)
        return await noted(one.take_part(entry), ledger)

    async def place(number: int) -> None:
        await asyncio.sleep(spread_s * number / n)
        while await one() and not spread_s and not over.is_set():
            pass

    await asyncio.gather(*(place(number) for number in range(n)))


async def noted(journey: Awaitable[None], ledger: Ledger) -> bool:
    """True if it came to its end; one that goes astray is a problem of the check, and the others go on."""
    try:
        await journey
    except (StrayedError, DroppedError, KeyError, ValueError) as error:
        ledger.problems.append(f"{type(error).__name__}: {error}")
        return False
    return True
