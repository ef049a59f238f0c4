"""The client reports what a browser would have met: answers kept apart from connections that broke."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.web.client import Client, DroppedError, Record
from benchmarks.web.walks import hidden_fields

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: who=me; Path=/\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1\r\n!\r\n0\r\n\r\n"
MOVED = b"HTTP/1.1 303 See Other\r\nContent-Length: 0\r\nLocation: /next/\r\n\r\n"


def asked(handler: Handler, ask: Callable[[Client], Awaitable[None]]) -> Record:
    """What the record says after `ask` used a client of a server that is `handler`."""
    record = Record()

    async def run() -> None:
        server = await asyncio.start_server(handler, "127.0.0.1", 0)
        client = Client("127.0.0.1", server.sockets[0].getsockname()[1], record)
        try:
            await ask(client)
        finally:
            client.close()
            server.close()

    # In a thread of its own: a browser of another test may have a loop running in this one
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(run())).result()
    return record


def answering(*answers: bytes, connections: list[str]) -> Handler:
    """A server that gives each connection these answers in turn, then closes it."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append("opened")
        for answer in answers:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                break
            connections.append(head.decode())
            writer.write(answer)
            await writer.drain()
        writer.close()

    return handle


def test_a_connection_and_cookies_are_kept_and_redirects_followed() -> None:
    seen: list[str] = []

    async def ask(client: Client) -> None:
        assert (await client.get("/")).text == "ok"
        answer = await client.get("/")
        assert (answer.path, answer.status, answer.text) == ("/next/", 200, "ok!")

    record = asked(answering(OK, MOVED, CHUNKED, connections=seen), ask)
    assert seen.count("opened") == 1
    assert "Cookie: who=me" in seen[-1]
    assert (record.requests, record.dropped, record.reopened) == (3, 0, 0)
    assert len(record.request_s) == 3


def test_an_idle_connection_that_the_server_closed_is_opened_again_and_none_is_dropped() -> None:
    seen: list[str] = []

    async def ask(client: Client) -> None:
        await client.get("/")
        await asyncio.sleep(0.2)  # until the end of the connection has come
        await client.get("/")

    record = asked(answering(OK, connections=seen), ask)
    assert seen.count("opened") == 2
    assert (record.requests, record.dropped, record.reopened) == (2, 0, 1)


def test_an_answer_that_breaks_off_is_a_dropped_connection_each_time_that_it_is_tried() -> None:
    async def ask(client: Client) -> None:
        with pytest.raises(DroppedError):
            await client.get("/")

    record = asked(answering(OK[:-1], connections=[]), ask)
    assert (record.requests, record.dropped) == (0, 3)


def test_hidden_inputs_are_read_whatever_the_order_of_their_attributes() -> None:
    page = (
        '<input type="hidden" name="a" value="1 &amp; 2"><input value="3" name="b" type="hidden">'
        '<input type="hidden" name="c"><input type="text" name="d" value="4">'
    )
    assert hidden_fields(page) == {"a": "1 & 2", "b": "3", "c": ""}
