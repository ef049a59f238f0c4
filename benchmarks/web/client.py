"""A browser's connection to a server of this machine: HTTP/1.1 kept alive, cookies, and a record of how long each answer took.

Written for little CPU, since it shares the machine with the servers that it measures.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

HOST = "127.0.0.1"
TIMEOUT_S = 60.0
REDIRECTS = {301, 302, 303, 307, 308}


class DroppedError(Exception):
    """A request was sent, or a connection tried, and no whole answer came."""


@dataclass
class Record:
    """Records of all clients of a run."""

    request_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    dropped: int = 0  # requests without a whole answer
    unanswered: int = 0  # of these, requests that were sent whole


class Client:
    """One visitor of one server."""

    def __init__(self, port: int, record: Record) -> None:
        self.port, self.record = port, record
        self.cookies: dict[str, str] = {}
        self._is_sent = False  # the present request, whole
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    def another_tab(self) -> "Client":
        """A connection of its own, with the same cookies."""
        tab = Client(self.port, self.record)
        tab.cookies = self.cookies
        return tab

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    def path_of(self, location: str) -> str:
        return location.removeprefix(f"http://{HOST}:{self.port}")

    async def ask(
        self, method: str, path: str, body: bytes | None, accept: str
    ) -> tuple[int, dict[str, str], str]:
        """One request, and its answer's status, headers and text; no redirect is followed."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                answer = await self._exchange(self._request(method, path, body, accept))
        except (OSError, EOFError, TimeoutError) as error:
            self.record.dropped += 1
            self.record.unanswered += self._is_sent
            self.close()
            raise DroppedError(f"{method} {path}: {error!r}") from error
        self.record.request_s.append(time.perf_counter() - started)
        self.record.statuses[answer[0]] += 1
        return answer

    def _request(self, method: str, path: str, body: bytes | None, accept: str) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}:{self.port}", f"Accept: {accept}"]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if body is not None:
            lines.append("Content-Type: application/x-www-form-urlencoded")
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + (body or b"")

    async def _exchange(self, request: bytes) -> tuple[int, dict[str, str], str]:
        self._is_sent = False
        if self._reader is not None and self._reader.at_eof():
            self.close()
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(HOST, self.port)
        await self.send(request, self._reader, self._writer)
        self._is_sent = True
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:-2]:
            name, _, value = line.partition(":")
            if name.lower() == "set-cookie":
                self._keep(value.strip())
            else:
                headers[name.lower()] = value.strip()
        body = await self._body(self._reader, headers)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return int(head[0].split(" ", 2)[1]), headers, body.decode()

    async def send(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(request)
        await writer.drain()

    async def _body(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
        if "content-length" in headers:
            return await reader.readexactly(int(headers["content-length"]))
        if headers.get("transfer-encoding") != "chunked":
            return await reader.read() if headers.get("connection") == "close" else b""
        parts = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            parts.append(await reader.readexactly(size))
            await reader.readuntil(b"\r\n")
        await reader.readuntil(b"\r\n")
        return b"".join(parts)

    def _keep(self, cookie: str) -> None:
        name, _, value = cookie.partition(";")[0].partition("=")
        self.cookies[name] = value
