"""Strangers who send what no page does, at a fixed rate: `python -m benchmarks.trust.load.hostile PORT PER_SECOND`."""

import asyncio
import itertools
import json
import random
import signal
import sys
from contextlib import suppress
from urllib.parse import urlencode

from benchmarks.web.client import Client, DroppedError, Record

CONNECTIONS = 48
HTML = "text/html"


def requests(rng: random.Random) -> tuple[str, str, bytes | None]:
    """Method, path and body: addresses that are not there, forms of nobody, guessed passwords, codes and keys."""
    word = f"{rng.getrandbits(64):x}"
    forms = {"username": f"user{rng.randrange(50)}", "password": word, "code": word}
    return rng.choice(
        (
            ("GET", f"/{word}/../../etc/passwd", None),
            ("GET", f"/s/bench/?PROLIFIC_PID={word * 20}", None),
            ("GET", f"/s/bench/trial/{rng.randrange(99)}/", None),
            ("GET", f"/lab/studies/{word}/?order=-{word}", None),
            ("GET", "/api/v1/studies/", None),
            ("GET", f"/admin/?{word}=%00", None),
            ("POST", "/lab/sign-in/", urlencode(forms).encode()),
            ("POST", "/s/bench/", urlencode({"agree": word}).encode()),
            ("POST", "/s/bench/withdraw/", urlencode(forms).encode()),
            ("POST", "/s/bench/trial/1/", rng.randbytes(2000)),
        )
    )


async def main(port: int, per_s: float) -> None:
    """Until SIGTERM; then it prints how many requests a minute were answered, and how many of them with 500."""
    loop, record = asyncio.get_running_loop(), Record()
    began, sent = loop.time(), itertools.count()

    async def one(number: int) -> None:
        rng, client = random.Random(number), Client("127.0.0.1", port, record, tries=1)
        while True:
            await asyncio.sleep(max(0.0, began + next(sent) / per_s - loop.time()))
            method, path, body = requests(rng)
            try:
                await client.ask(method, path, body, HTML)
            except (DroppedError, UnicodeDecodeError, ValueError):
                client.close()

    everybody = asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    loop.add_signal_handler(signal.SIGTERM, everybody.cancel)
    with suppress(asyncio.CancelledError):
        await everybody
    per_minute = 60 * record.statuses.total() / (loop.time() - began)
    print(json.dumps({"per_minute": per_minute, "errors": record.statuses[500]}))  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
