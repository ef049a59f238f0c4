"""Simulated participants: who arrives when, how long they stay on each page, what they answer. Pure.

A script is drawn whole before anything happens, so that the same seed gives the same people under any
assignment policy.
"""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Arrival = Literal["trickle", "steady", "waves", "flash"]
ARRIVALS: tuple[Arrival, ...] = ("trickle", "steady", "waves", "flash")

# Natural logarithm of the published trial times in ms: mean 11.226, sd 0.836 over 1,514 trials.
TRIAL_LOG_MEAN, TRIAL_LOG_SD = 11.23, 0.84
# Other pages: log-normal with medians of about 45 s (about you), 75 s (practice) and 90 s (debrief).
ABOUT_YOU_LOG_MEAN, PRACTICE_LOG_MEAN, DEBRIEF_LOG_MEAN, OTHER_LOG_SD = 10.7, 11.2, 11.4, 0.5
# Published: 31 of 202 finishers and 25 of 1,539 trials were excluded.
EXCLUDED_FINISHERS = 0.15
EXCLUDED_TRIALS = 0.014
MISSED_CATCH_SHARE = 0.7
# Who would rate their confidence below this says "I do not know"; who is wrong writes this
ABSTAINS_BELOW = 30
FOLLOWS = 0.4  # chance that a simulated participant follows advice
WRONG_ANSWER = "A simulated answer that is wrong."

HOUR_S = 3600.0
WAVE_SIZE, WAVE_EVERY_S = 100, 24 * HOUR_S
# Participants with the page open at the same time, on average.
CONCURRENT: dict[str, int] = {"trickle": 4, "steady": 11}


@dataclass(frozen=True, slots=True)
class TrialScript:
    """The actions of a simulated participant in a trial. Chance decides if the choice is right, and not which side it is."""

    rt_ms: int
    correct: bool
    confidence: int
    expertise: int
    recognised: bool
    follows: float = FOLLOWS

    def written(self, expert_answer: str, most: int) -> str:
        """The answer to a question, of so many characters at most; "" for "I do not know".

        >>> TrialScript(40_000, True, 60, 20, recognised=False).written("Bread rises.", most=5)
        'Bread'
        """
        if self.confidence < ABSTAINS_BELOW:
            return ""
        return expert_answer[:most] if self.correct else WRONG_ANSWER


def after_advice(
    own: str, advice: str, key: uuid.UUID, follows: float = FOLLOWS
) -> tuple[str, uuid.UUID]:
    """The side that is chosen with the advice, and the key of that answer; `key` is the answer's without it.

    >>> after_advice("A", "A", uuid.UUID(int=1))[0], after_advice("A", "B", uuid.UUID(int=1), 1)[0]
    ('A', 'B')
    """
    rng = random.Random(f"advice/{key}")
    side = advice if rng.random() < follows else own
    return side, uuid.UUID(int=rng.getrandbits(128), version=4)


@dataclass(frozen=True, slots=True)
class Script:
    """One simulated participant. `leaves_on` is the page they leave from, or None for who finishes.

    Pages count from 0: about you, practice, the trials, debrief. `stays` holds the fraction of that last
    page's time after which who leaves is gone.
    """

    seed: int
    page_ms: tuple[int, ...]
    trials: tuple[TrialScript, ...]
    leaves_on: int | None
    stays: float
    misses_catch: bool
    cheats: bool

    def of_length(self, n_trials: int) -> "Script":
        """The same person where a participant has fewer trials; a page that is left is again uniform over all.

        >>> script = draw_scripts(1, 0, 0.63, 11, random.Random(1))[0].of_length(4)
        >>> len(script.trials), len(script.page_ms)
        (4, 7)
        """
        if n_trials >= len(self.trials):
            return self
        page_ms = (*self.page_ms[: 2 + n_trials], self.page_ms[-1])
        leaves_on = None if self.leaves_on is None else self.leaves_on % len(page_ms)
        trials = self.trials[:n_trials]
        return replace(self, page_ms=page_ms, trials=trials, leaves_on=leaves_on)

    @property
    def finishes(self) -> bool:
        return self.leaves_on is None

    @property
    def present_ms(self) -> float:
        """Time with the page open."""
        if self.leaves_on is None:
            return sum(self.page_ms)
        return sum(self.page_ms[: self.leaves_on]) + self.stays * self.page_ms[self.leaves_on]


def draw_scripts(
    finish: int, dropout: float, accuracy: float, n_trials: int, rng: random.Random
) -> list[Script]:
    """Scripts in order of arrival, until `finish` of them finish.

    Args:
        finish: number of finishers.
        dropout: chance to leave early; the page is then uniform over all pages.
        accuracy: chance that a test trial is right.
        n_trials: trials per participant.
    Raises:
        ValueError: an argument out of range.

    >>> scripts = draw_scripts(20, 0.5, 0.63, 11, random.Random(1))
    >>> sum(script.finishes for script in scripts), scripts[-1].finishes
    (20, True)
    """
    if finish < 1 or not 0 <= dropout < 1 or not 0 <= accuracy <= 1:
        raise ValueError(
            "need at least one finisher, a dropout in [0, 1) and an accuracy in [0, 1]"
        )
    # A share, not a chance each: the number of valid finishers is then what was asked for.
    n_excluded = round(EXCLUDED_FINISHERS * finish)
    excluded = [True] * n_excluded + [False] * (finish - n_excluded)
    rng.shuffle(excluded)
    scripts: list[Script] = []
    while excluded:
        leaves = rng.random() < dropout
        scripts.append(_draw_script(leaves, not leaves and excluded.pop(), accuracy, n_trials, rng))
    return scripts


def draw_arrivals(scripts: list[Script], arrival: Arrival, rng: random.Random) -> list[float]:
    """Seconds from the start at which each participant arrives, ascending.

    trickle and steady are Poisson arrivals at the rate that keeps about 4 or 11 pages open (Little's law:
    rate = number present / mean time present); waves bring 100 people within an hour once a day; flash
    brings all within one hour.
    """
    draw: Callable[[int], float]
    if arrival in CONCURRENT:
        mean_s = sum(script.present_ms for script in scripts) / len(scripts) / 1000
        times, now = [], 0.0
        for _ in scripts:
            now += rng.expovariate(CONCURRENT[arrival] / mean_s)
            times.append(now)
        return times
    if arrival == "waves":
        draw = lambda n: (n // WAVE_SIZE) * WAVE_EVERY_S + rng.random() * HOUR_S  # noqa: E731
    else:
        draw = lambda n: rng.random() * HOUR_S  # noqa: E731
    return sorted(draw(n) for n in range(len(scripts)))


def _draw_script(
    leaves: bool, is_excluded: bool, accuracy: float, n_trials: int, rng: random.Random
) -> Script:
    trials = []
    for _ in range(n_trials):
        correct = rng.random() < accuracy
        spoiled = rng.random() < EXCLUDED_TRIALS
        recognised = spoiled and rng.random() < 0.5
        rt_ms = (
            rng.randrange(1_000, 5_000)
            if spoiled and not recognised
            else _log_normal(TRIAL_LOG_MEAN, TRIAL_LOG_SD, rng)
        )
        # Surer when right, as people are; the published slope of accuracy on confidence is of this size.
        confidence, expertise = (
            min(100, max(1, round(rng.gauss(mean, sd))))
            for mean, sd in ((52 + 8 * correct, 24), (35, 22))
        )
        trials.append(TrialScript(rt_ms, correct, confidence, expertise, recognised))
    about_you = _log_normal(ABOUT_YOU_LOG_MEAN, OTHER_LOG_SD, rng)
    practice = _log_normal(PRACTICE_LOG_MEAN, OTHER_LOG_SD, rng)
    debrief = _log_normal(DEBRIEF_LOG_MEAN, OTHER_LOG_SD, rng)
    page_ms = (about_you, practice, *(trial.rt_ms for trial in trials), debrief)
    misses_catch = is_excluded and rng.random() < MISSED_CATCH_SHARE
    return Script(
        seed=rng.getrandbits(62),
        page_ms=page_ms,
        trials=tuple(trials),
        leaves_on=rng.randrange(len(page_ms)) if leaves else None,
        stays=rng.random(),
        misses_catch=misses_catch,
        cheats=is_excluded and not misses_catch,
    )


def _log_normal(mean: float, sd: float, rng: random.Random) -> int:
    return round(rng.lognormvariate(mean, sd))
