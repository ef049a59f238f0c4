"""Strangers who send what no page does, at a fixed rate: `python -m benchmarks.trust.strangers PORT PER_SECOND`.

Every other one has opened a page before, so that its forms carry a token and are looked at: passwords are compared, codes are looked up.
"""

import asyncio
import itertools
import json
import random
import signal
import sys
from collections import Counter
from contextlib import suppress
from urllib.parse import urlencode

from benchmarks.web.client import Client, DroppedError, Record
from benchmarks.web.people import hidden_fields

CONNECTIONS = 48
HTML = "text/html"
# Malformed, without a token, one try too many
TOKEN, UNSEEN = "csrfmiddlewaretoken", (400, 403, 429)
UNREADABLE = (DroppedError, UnicodeDecodeError, ValueError)


def requests(rng: random.Random, token: str) -> tuple[str, str, bytes | None]:
    """Method, path and body: addresses that are not there, forms of nobody, guessed passwords, codes and keys."""
    word = f"{rng.getrandbits(64):x}"
    forms = {"username": f"user{rng.randrange(50)}", "password": word, "code": word, TOKEN: token}
    return rng.choice(
        (
            ("GET", f"/{word}/../../etc/passwd", None),
            ("GET", f"/s/bench/?PROLIFIC_PID={word * 20}", None),
            ("GET", f"/s/bench/trial/{rng.randrange(99)}/", None),
            ("GET", f"/lab/studies/{word}/?order=-{word}", None),
            ("GET", "/api/v1/studies/", None),
            ("GET", f"/admin/?{word}=%00", None),
            ("POST", "/lab/sign-in/", urlencode(forms).encode()),
            ("POST", "/s/bench/", urlencode({"agree": word, TOKEN: token}).encode()),
            ("POST", "/s/bench/return/", urlencode(forms).encode()),
            ("POST", "/s/bench/withdraw/", urlencode(forms).encode()),
            ("POST", "/s/bench/trial/1/", rng.randbytes(2000)),
        )
    )


async def main(port: int, per_s: float) -> None:
    """Until SIGTERM; then it prints how many requests a minute were answered, how many forms a minute were looked at, and how many answers were 500."""
    loop, record = asyncio.get_running_loop(), Record()
    began, sent, looked_at = loop.time(), itertools.count(), Counter[str]()

    async def one(number: int) -> None:
        rng, client = random.Random(number), Client(port, record)
        token = await opened(client) if number % 2 else ""
        while True:
            await asyncio.sleep(max(0.0, began + next(sent) / per_s - loop.time()))
            method, path, body = requests(rng, token)
            try:
                status, _, _ = await client.ask(method, path, body, HTML)
            except UNREADABLE:
                client.close()
            else:
                looked_at["forms"] += method == "POST" and status not in UNSEEN

    everybody = asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    loop.add_signal_handler(signal.SIGTERM, everybody.cancel)
    with suppress(asyncio.CancelledError):
        await everybody
    minutes = (loop.time() - began) / 60
    told = {
        "per_minute": record.statuses.total() / minutes,
        "forms_per_minute": looked_at["forms"] / minutes,
        "errors": record.statuses[500],
    }
    print(json.dumps(told))  # noqa: T201


async def opened(client: Client) -> str:
    """The token of a form, with its cookie."""
    while True:
        try:
            return hidden_fields((await client.ask("GET", "/lab/sign-in/", None, HTML))[2])[TOKEN]
        except (*UNREADABLE, KeyError):
            client.close()
            await asyncio.sleep(1)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
