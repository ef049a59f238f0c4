"""Participants' journeys: what a browser asks for from the study's link to the last page."""

import html
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.web.client import Answer, Client, DroppedError, Record

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
}
INPUT = re.compile(r"<input\b[^>]*>")
SENT_BY_SCRIPT = re.compile(
    r"\bdata-(?:trial|turns)\b"
)  # forms that the page's script sends itself
ATTRIBUTE = re.compile(r'\b(type|name|value)="([^"]*)"')
UNPROCESSABLE = 422

Walk = Callable[["Visitor"], Awaitable[None]]


class JourneyError(Exception):
    """The server answered with something else than the next page."""


def hidden_fields(page: str) -> dict[str, str]:
    """The hidden inputs of a page, which a browser sends along with what a person fills in."""
    found = (dict(ATTRIBUTE.findall(tag)) for tag in INPUT.findall(page))
    return {
        tag["name"]: html.unescape(tag.get("value", ""))
        for tag in found
        if tag.get("type") == "hidden" and "name" in tag
    }


class Visitor:
    """One participant: goes from each page to the next as fast as it can."""

    def __init__(self, client: Client, entry: str, rng: random.Random) -> None:
        self.client, self.entry, self.rng = client, entry, rng
        self.page = Answer(0, "", "")

    async def open(self) -> None:
        started = time.perf_counter()
        self.page = self._checked(await self.client.get(self.entry))
        self._note(started)

    async def send(self, form: dict[str, str], *, allowed: Sequence[int] = (200,)) -> None:
        """Send the page's form as a browser does, and open what it leads to."""
        started = time.perf_counter()
        fields = hidden_fields(self.page.text) | form
        self.page = self._checked(await self.client.post(self.page.path, fields), allowed)
        self._note(started)

    async def send_by_script(self, form: dict[str, str]) -> None:
        """Send the form as the page's script does: the answer names the next page, and may bring it along.

        Where the server refuses, the script lets the browser send the form, for the page that says why.
        """
        started = time.perf_counter()
        fields = hidden_fields(self.page.text) | form
        answer = await self.client.post(self.page.path, fields, accept="application/json")
        self._checked(answer, (200, UNPROCESSABLE))
        if answer.status == UNPROCESSABLE:
            refused = await self.client.post(self.page.path, fields)
            self.page = self._checked(refused, (200, UNPROCESSABLE))
        else:
            shown = json.loads(answer.text)
            page = shown.get("page")
            self.page = (
                self._checked(await self.client.get(shown["next"]))
                if page is None
                else Answer(200, shown["next"], page)
            )
        self._note(started)

    def expect(self, part: str) -> None:
        if part not in self.page.path:
            raise JourneyError(f"expected {part}, but the server shows {self.page.path}")

    def _checked(self, answer: Answer, allowed: Sequence[int] = (200,)) -> Answer:
        if answer.status not in allowed:
            raise JourneyError(f"{answer.path} answered {answer.status}")
        return answer

    def _note(self, started: float) -> None:
        self.client.record.page_s.append(time.perf_counter() - started)


async def walk_site(visitor: Visitor, *, plain: bool = False) -> None:
    """Through a study of this site, with the page's script or without JavaScript."""

    async def leave(form: dict[str, str]) -> None:
        if plain or not SENT_BY_SCRIPT.search(visitor.page.text):
            await visitor.send(form, allowed=(200, UNPROCESSABLE))
        else:
            await visitor.send_by_script(form)

    async def answer(side: str) -> None:
        await leave({"side": side} | RATED | ({} if plain else MEASURES))

    await visitor.open()
    await leave({"agree": "yes"})
    visitor.expect("/about-you/")
    await leave(ABOUT | {"age_number": "34", "experience_years_number": "9.5"})
    visitor.expect("/practice/")
    for side in "AB":
        if "/practice/" in visitor.page.path:
            await answer(side)
    visitor.expect("/start/")
    await leave({})
    position = 0
    while "/trial/" in visitor.page.path:
        position += 1
        visitor.expect(f"/trial/{position}/")
        await answer(visitor.rng.choice("AB"))
    visitor.expect("/debrief/")
    await leave({"comments": "Thank you"})
    visitor.expect("/done/")


async def walk_otree(visitor: Visitor) -> None:
    """Through the equivalent oTree app, without the WebSocket that the script of each page opens too."""
    leave = visitor.send
    await visitor.open()
    visitor.expect("/Consent/")
    await leave({"agree": "yes"})
    visitor.expect("/Demographics/")
    await leave(ABOUT | {"age": "34", "experience_years": "9.5"})
    visitor.expect("/Practice/")
    for side in "AB":
        if "/Practice/" in visitor.page.path:
            await leave({"side": side})
    visitor.expect("/Start/")
    await leave({})
    while "/Trial/" in visitor.page.path:
        await leave({"side": visitor.rng.choice("AB")} | RATED | MEASURES)
    visitor.expect("/Debrief/")
    await leave({"cheated": "0", "comments": "Thank you"})
    visitor.expect("/Done/")


async def travel(record: Record, visitor: Visitor, walk: Walk) -> None:
    """One journey; the record says how it ended."""
    try:
        await walk(visitor)
        record.journeys += 1
    except (JourneyError, DroppedError, OSError, EOFError, KeyError, ValueError) as error:
        record.failed.append(str(error))
    finally:
        visitor.client.close()
