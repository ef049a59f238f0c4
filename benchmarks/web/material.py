"""Test cases of a realistic length, made up: the same ones for this site and for the oTree app."""

import random
from dataclasses import dataclass

N_HUMAN, N_MACHINE, N_CATCH = 120, 70, 10
SENTENCES = 11  # about 1,500 characters, as abstracts in neuroscience have
SUBJECTS = ("The hippocampal response", "Activity in the prefrontal cortex", "Synaptic plasticity")
VERBS = ("was measured", "was recorded with implanted electrodes", "was compared between groups")
CONTEXTS = (
    "while participants learned a sequence of visual cues",
    "during a task that required memory over several seconds",
    "before and after four weeks of daily training",
    "in animals that explored an unfamiliar environment",
)
CHANGES = (("increased", "decreased"), ("stronger", "weaker"), ("earlier", "later"))


@dataclass(frozen=True, slots=True)
class MadeItem:
    """A test case: plain texts, and pairs of an original and an altered passage."""

    key: str
    stratum: str  # human, machine, catch, or practice
    parts: tuple[str | tuple[str, str], ...]

    @property
    def markup(self) -> str:
        return "".join(p if isinstance(p, str) else f"[[{p[0]}, {p[1]}]]" for p in self.parts)


def make_items() -> list[MadeItem]:
    """The pool of a study and one item for practice; always the same."""
    rng = random.Random("bench_web")
    strata = ["human"] * N_HUMAN + ["machine"] * N_MACHINE + ["catch"] * N_CATCH + ["practice"]
    return [_item(n, stratum, rng) for n, stratum in enumerate(strata)]


def _item(number: int, stratum: str, rng: random.Random) -> MadeItem:
    changed = set(rng.sample(range(2, SENTENCES), rng.randint(2, 4)))
    parts: list[str | tuple[str, str]] = []
    for n in range(SENTENCES):
        start = f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(CONTEXTS)}"
        if n in changed:
            parts += [f"{start} and was ", rng.choice(CHANGES), f" in group {number}. "]
        else:
            parts.append(f"{start}, as earlier studies of this kind suggest. ")
    return MadeItem(f"bench-{number}", stratum, tuple(parts))
