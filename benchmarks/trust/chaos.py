"""A proxy between people and the site that cuts and slows connections, request by request."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Event, Thread

from benchmarks.web.client import DroppedError

TRICKLE_S = 0.05
TRICKLED = 40  # bytes, one by one; the others at once
HEAD_END = b"\r\n\r\n"


class Cut(StrEnum):
    """What becomes of a request and its answer. After all but the last two, both connections are closed."""

    BEFORE = "before the request"
    WITHIN_HEAD = "within the request's head"
    WITHIN_BODY = "within the request's body"
    BEFORE_ANSWER = "before the answer"
    WITHIN_ANSWER = "within the answer"
    TRICKLE = "sent byte by byte"
    HALF_CLOSED = "closed on one side after the request"


class _CutError(Exception):
    pass


@dataclass
class Chaos:
    """`share` of the requests are struck, each by one of `cuts`."""

    site_port: int
    cuts: Sequence[Cut]
    share: float
    rng: random.Random
    port: int = 0
    struck: Counter[Cut] = field(default_factory=Counter)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a browser, and one to the site."""
        site: asyncio.StreamWriter | None = None
        with suppress(OSError, EOFError, _CutError):
            answers, site = await asyncio.open_connection("127.0.0.1", self.site_port)
            while True:
                head, body = await read_message(reader)
                cut = self._next(has_body=bool(body))
                await self._forward(head, body, site, cut)
                answer = b"".join(await read_message(answers))
                if cut is Cut.WITHIN_ANSWER:
                    writer.write(answer[: self.rng.randrange(1, len(answer))])
                    await writer.drain()
                    break
                writer.write(answer)
                await writer.drain()
                if cut is Cut.HALF_CLOSED:
                    break
        for end in (site, writer):
            if end is not None:
                end.close()

    def _next(self, *, has_body: bool) -> Cut | None:
        if self.rng.random() >= self.share:
            return None
        cuts = [c for c in self.cuts if has_body or c is not Cut.WITHIN_BODY]
        fewest = min(self.struck[c] for c in cuts)  # so that every kind has its turn
        cut = self.rng.choice([c for c in cuts if self.struck[c] == fewest])
        self.struck[cut] += 1
        return cut

    async def _forward(
        self, head: bytes, body: bytes, site: asyncio.StreamWriter, cut: Cut | None
    ) -> None:
        if cut is Cut.BEFORE:
            raise _CutError
        whole = head + body
        sent = {
            Cut.WITHIN_HEAD: head[: len(head) // 2],
            Cut.WITHIN_BODY: head + body[: len(body) // 2],
            Cut.TRICKLE: whole[:-TRICKLED],
        }.get(cut or Cut.BEFORE, whole)
        site.write(sent)
        await site.drain()
        if cut in (Cut.WITHIN_HEAD, Cut.WITHIN_BODY, Cut.BEFORE_ANSWER):
            raise _CutError
        if cut is Cut.TRICKLE:
            for n in range(len(sent), len(whole)):
                site.write(whole[n : n + 1])
                await site.drain()
                await asyncio.sleep(TRICKLE_S)
        if cut is Cut.HALF_CLOSED:
            site.write_eof()


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """A request or an answer: its head, and its body of the length that the head announces."""
    head = await reader.readuntil(HEAD_END)
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return head, await reader.readexactly(int(value))
        if name.lower() == b"transfer-encoding":
            raise DroppedError("no page of the study is sent in chunks")
    return head, b""


@contextmanager
def chaos(site_port: int, cuts: Sequence[Cut], share: float, seed: int) -> Iterator[Chaos]:
    """The proxy, in a thread of its own; people go to its port."""
    proxy = Chaos(site_port, cuts, share, random.Random(seed))
    ready, loop = Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        proxy.port = server.sockets[0].getsockname()[1]
        ready.set()
        await stop.wait()
        server.close()

    thread = Thread(target=lambda: loop.run_until_complete(run()), daemon=True)
    thread.start()
    ready.wait(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
