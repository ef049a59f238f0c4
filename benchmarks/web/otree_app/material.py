"""The test cases, which `bench web` writes beside this file, read once."""

import json
import random
from pathlib import Path

MATERIAL = json.loads(Path(__file__).with_name("material.json").read_text())
ITEMS = MATERIAL["items"]
COUNTRIES = [["prefer_not_to_say", "Prefer not to say"], *MATERIAL["countries"]]
BRIEFING = MATERIAL["briefing"]
CONSENT = MATERIAL["consent"]
BY_STRATUM = {
    stratum: [number for number, item in enumerate(ITEMS) if item["stratum"] == stratum]
    for stratum in ("human", "machine", "catch", "practice")
}
COUNTS = {"human": 6, "machine": 3, "catch": 2}


def draw():
    """Eleven items in a random order, and for each the side of its original."""
    drawn = [n for stratum, k in COUNTS.items() for n in random.sample(BY_STRATUM[stratum], k)]
    random.shuffle(drawn)
    return [(number, random.choice("AB")) for number in drawn]


def by_side(number, original_side):
    """The parts of an item: plain texts, and the two passages of each difference as sides A and B."""
    return [
        {"text": part}
        if isinstance(part, str)
        else {
            "a": part[0 if original_side == "A" else 1],
            "b": part[1 if original_side == "A" else 0],
        }
        for part in ITEMS[number]["parts"]
    ]


def original(number):
    """The parts of an item's original, with what stood in the other version."""
    return [
        {"text": part} if isinstance(part, str) else {"was": part[0], "other": part[1]}
        for part in ITEMS[number]["parts"]
    ]
