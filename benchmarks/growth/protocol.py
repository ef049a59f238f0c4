"""The draw's protocol as a discrete-event simulation, for more draws a second than one machine makes.

Each draw reads the counters, takes a while to choose, and raises the chosen item's counter if it is as it was read.
The row stays locked until the commit; who comes meanwhile waits, then finds another number, and begins again.
"""

import heapq
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Simulated:
    """`overtaken`: tries that began again, per draw; `spread`: most minus least exposures of an item, at any moment."""

    per_s: float
    commit_ms: float
    draws: int
    overtaken: float
    spread: int
    p95_ms: float


def simulate(
    per_s: float,
    commit_ms: float,
    *,
    n_items: int = 100,
    draws: int = 20_000,
    choose_ms: float = 3.0,
    seed: int = 1,
) -> Simulated:
    """Draws of one stratum that come at random, `per_s` on average.

    One item is no contest, and every other draw waits for it and is overtaken:

    >>> simulate(0.001, 1.0, n_items=1, draws=10).overtaken
    0.0
    """
    rng = random.Random(seed)
    counts = [0] * n_items  # as committed
    free_at = [0.0] * n_items  # when the row's last lock ends
    came, tries = 0.0, 0
    # (when, order, what, arrival, item, count as read); what: 0 reads, 1 takes, 2 commits
    events: list[tuple[float, int, int, float, int, int]] = []
    for n in range(draws):
        came += rng.expovariate(per_s / 1000)
        events.append((came, n, 0, came, -1, 0))
    heapq.heapify(events)
    order, spread, times = draws, 0, []
    while events:
        now, _, what, arrival, item, read = heapq.heappop(events)
        order += 1
        if what == 0:
            tries += 1
            least = min(counts)
            item = rng.choice([i for i, n in enumerate(counts) if n == least])
            heapq.heappush(events, (now + choose_ms, order, 1, arrival, item, least))
        elif what == 1 and free_at[item] > now:
            heapq.heappush(events, (free_at[item], order, 1, arrival, item, read))
        elif what == 1 and counts[item] != read:
            heapq.heappush(events, (now, order, 0, arrival, -1, 0))
        elif what == 1:
            free_at[item] = now + commit_ms
            heapq.heappush(events, (now + commit_ms, -order, 2, arrival, item, read))
        else:
            counts[item] += 1
            spread = max(spread, max(counts) - min(counts))
            times.append(now - arrival)
    p95 = sorted(times)[int(0.95 * (len(times) - 1))]
    return Simulated(per_s, commit_ms, draws, (tries - draws) / draws, spread, p95)
