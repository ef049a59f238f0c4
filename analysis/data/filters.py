"""Options of a report: which trials, texts and models it is about. Plain data."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiment.domain.assignment import Stratum

SOURCES: tuple[Stratum, ...] = ("human", "machine")
OF_STUDY = "study"  # in the place of a source: what is the same for all of them
SOURCE_CHOICES = ("all", *SOURCES)
TEXTS = ("as-published", "repaired")
TRIALS = ("analysed", "all")
PERPLEXITY, CHOICE = "perplexity", "choice"
METHODS = (PERPLEXITY, CHOICE)
# In results, a model that was asked is named so, wherever the same model was scored or not; readers see `asked_label`
ASKED = " (asked)"
# Pilots tried the study out: their trials are no result.
PARTICIPANTS = ("real", "simulated", "imported")


def shown(name: str, is_simulated: bool) -> str:
    """A name that says that it stands for something made up.

    >>> shown("Falcon", True), shown("Falcon (simulated)", True), shown("Falcon", False)
    ('Falcon (simulated)', 'Falcon (simulated)', 'Falcon')
    """
    return f"{name} (simulated)" if is_simulated and "simulated" not in name.lower() else name


def asked_label(label: str, *, is_also_scored: bool, is_simulated: bool = False) -> str:
    """A model that was asked as readers see it: by its own label, unless the same report or list has it scored, too.

    >>> asked_label("Falcon", is_also_scored=False), asked_label("Falcon", is_also_scored=True)
    ('Falcon', 'Falcon (asked)')
    """
    return shown(f"{label}{ASKED}" if is_also_scored else label, is_simulated)


class UnknownChoiceError(ValueError):
    """An option that does not exist, or names what the study does not have; the sentence is for whoever chose."""


@dataclass(frozen=True)
class ReportOptions:
    """Filters of a report; an empty one lets everything through.

    source: of the altered versions: human, machine or all. participants: a kind, "" the study's usual one.
    texts: for test cases that were published damaged: `as-published` takes what was judged and scored then,
        `repaired` what was judged and scored on the repaired text; the others are in both.
    trials: `analysed` without excluded ones, or `all` judged ones but catch trials.
    rules: the version of the study's rules that says what is excluded; None the newest.
    method: how models took the test, by their perplexities or by choosing; "" both.
    models: names; subfields: names. seed, resamples: of everything drawn at random, and of the bootstrap.
    bert_score: the model whose vectors BERTScore takes, by name, layer and weights; "" none. Only a command computes it.
    """

    source: str = "all"
    participants: str = ""
    texts: str = "as-published"
    trials: str = "analysed"
    rules: int | None = None
    method: str = ""
    models: tuple[str, ...] = ()
    subfields: tuple[str, ...] = ()
    seed: int = 42
    resamples: int = 10_000
    bert_score: str = ""

    def __post_init__(self) -> None:
        _check("source", self.source, SOURCE_CHOICES)
        _check("participants", self.participants, ("", *PARTICIPANTS))
        _check("texts", self.texts, TEXTS)
        _check("trials", self.trials, TRIALS)
        _check("method", self.method, ("", *METHODS))
        if not 0 <= self.seed < 2**32:
            raise UnknownChoiceError(f"seed: {self.seed} is not between 0 and 2^32 - 1")
        if not 0 <= self.resamples <= 1_000_000:
            raise UnknownChoiceError(f"resamples: {self.resamples} is not between 0 and 1,000,000")

    @property
    def sources(self) -> tuple[str, ...]:
        return SOURCES if self.source == "all" else (self.source,)

    def command(self, study: str) -> str:
        """Command that computes this report in a terminal, and stores it for the page."""
        default = ReportOptions()
        parts = [".venv/bin/python", "manage.py", "report", study, "--output", "FOLDER"]
        for name in ("source", "participants", "texts", "trials", "method"):
            if (value := getattr(self, name)) != getattr(default, name):
                parts += [f"--{'kind' if name == 'participants' else name}", value]
        if self.rules is not None:
            parts += ["--rules", str(self.rules)]
        for name in ("models", "subfields"):
            if values := getattr(self, name):
                parts += [f"--{name}", *values]
        return shlex.join(parts)

    def as_dict(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}


def _check(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        choices = ", ".join(filter(None, known))
        raise UnknownChoiceError(f"{name}: “{value}” is not one of {choices}")
