"""The studies that can be made by name: the paper's, as printed, and ours, with a reason for each difference. Pure.

The one source for `create_study`, and for the table of docs/participants.md that `write_docs protocol` makes from it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from experiment.domain.assignment import Stratum
from experiment.domain.exclusion import Clock, Rules, Untouched

Policy = Literal["balanced", "paper"]
Advice = Literal["none", "after", "before"]


@dataclass(frozen=True, slots=True)
class Preset:
    """The settings of a new study, and the published set that its test cases come from."""

    title: str
    collection: str
    field: str
    human_items: int
    machine_items: int
    catch_items: int
    policy: Policy
    demographic_fields: tuple[str, ...]
    ratings_required: bool
    reading_aid: bool
    debrief_catch_trials: bool
    missed_catch: bool
    untouched_sliders: Untouched
    admitted_cheating: bool
    recognised: bool
    min_rt_ms: int
    min_rt_clock: Clock

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the study besides its rules."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in NO_SETTING}
        return values | {"demographic_fields": list(self.demographic_fields)}

    @property
    def rules(self) -> Rules:
        return Rules(**{name: getattr(self, name) for name in RULES})

    @property
    def counts(self) -> dict[Stratum, int]:
        return {"human": self.human_items, "machine": self.machine_items, "catch": self.catch_items}


# Flags exclude no one, and were not printed
RULES = (
    "missed_catch",
    "untouched_sliders",
    "admitted_cheating",
    "recognised",
    "min_rt_ms",
    "min_rt_clock",
)
NO_SETTING = {"collection", *RULES}


@dataclass(frozen=True, slots=True)
class Deviation:
    """A setting in which the study differs from the paper's, and why."""

    setting: str
    value: Any
    reason: str


BRAINBENCH_STRICT = Preset(
    title="BrainBench: which result is real?",
    collection="brainbench",
    field="neuroscience",
    human_items=6,
    machine_items=3,
    catch_items=2,
    policy="paper",
    demographic_fields=("gender", "age", "country", "position", "experience_years"),
    ratings_required=True,
    reading_aid=False,
    debrief_catch_trials=True,
    missed_catch=True,
    untouched_sliders="neither",
    admitted_cheating=True,
    recognised=True,
    min_rt_ms=5_000,
    min_rt_clock="page",
)

DEVIATIONS = (
    Deviation(
        "policy",
        "balanced",
        "The paper's counter counts a test case as used when it is assigned, so test cases of people who leave or are "
        "excluded receive fewer judgments. The draw by expected exposure balances valid judgments.",
    ),
    Deviation(
        "ratings_required",
        False,
        "Participants without an opinion would have to invent a rating, which looks like any other. After one reminder, a "
        "rating may stay empty.",
    ),
    Deviation(
        "reading_aid",
        True,
        "Participants read one text with the original and the altered wording at each changed place, which is hard to read if "
        "many such places follow one another. The site counts how often participants read one side on its own.",
    ),
    Deviation(
        "debrief_catch_trials",
        False,
        "A catch trial that is revealed no longer works for people who hear about it from a participant.",
    ),
)

# What the pages of both presets do and the paper does not print: no setting takes it away
ADDITIONS: Mapping[str, str] = {
    "Each question about the participant can be declined.": "Taking part does not require personal information.",
    "A page between practice and trials says how many abstracts follow.": (
        "People who have to leave can do so before an abstract is used."
    ),
    "The side of the original is balanced within a participant, not only random.": (
        "A participant who always chooses one side is then right half of the time."
    ),
    "The last question of a trial asks whether the participant already knew the article or its result.": (
        "When the question said “the study”, participants thought of the experiment in which they were taking part. A “yes” "
        "excludes the trial, so valid trials were lost."
    ),
    "Everyone may write a comment, and receives a code with which to return or withdraw.": (
        "With the code, the site can find and erase a person's answers without storing a name."
    ),
}

BRAINBENCH = replace(BRAINBENCH_STRICT, **{d.setting: d.value for d in DEVIATIONS})

PRESETS: Mapping[str, Preset] = {
    "brainbench": BRAINBENCH,
    "brainbench-strict": BRAINBENCH_STRICT,
    "brainbench-advised": BRAINBENCH,
}

# Of a preset with arms: the advice that each gives, by its name; all have the same share
ARMS: Mapping[str, Mapping[str, Advice]] = {
    "brainbench-advised": {"alone": "none", "advised": "after"},
}

LABELS = {
    "title": "Title",
    "collection": "Test cases of the collection",
    "field": "Field of the years of experience",
    "human_items": "Human-created test cases per participant",
    "machine_items": "Machine-created test cases per participant",
    "catch_items": "Catch trials per participant",
    "policy": "Assignment of test cases",
    "demographic_fields": "Questions about the participant",
    "ratings_required": "Both ratings required",
    "reading_aid": "Participants can read one side on its own",
    "debrief_catch_trials": "Catch trials in the debrief",
    "missed_catch": "Excludes participants who missed a catch trial",
    "untouched_sliders": "Untouched sliders",
    "admitted_cheating": "Excludes participants who admitted to cheating",
    "recognised": "Excludes recognised trials",
    "min_rt_ms": "Excludes trials shorter than (ms)",
    "min_rt_clock": "End of the measured time",
}
WORDS: Mapping[Any, str] = {
    True: "yes",
    False: "no",
    "balanced": "the lowest expected exposure, drawn when shown",
    "paper": "the plain counter of uses, all drawn at the first trial",
    "brainbench": "BrainBench",
    "neither": "exclude participants who moved neither of the two",
    "page": "Continue",
}
FIELD_WORDS = {
    "experience_years": "years of experience",
    "position": "current position",
    "gender": "gender identity",
}


def as_markdown() -> str:
    """The table of presets in docs/participants.md: setting by setting, and what both do beyond the printed procedure.

    >>> as_markdown().splitlines()[0]
    '| setting | `brainbench-strict` | `brainbench` | why it differs |'
    """
    lines = [
        "| setting | `brainbench-strict` | `brainbench` | why it differs |",
        "| --- | --- | --- | --- |",
    ]
    for row in comparison():
        same = f"**{row.ours}**" if row.reason else "the same"
        lines.append(f"| {row.label} | {row.strict} | {same} | {row.reason} |")
    lines += ["", "| in both presets, but not in print | why |", "| --- | --- |"]
    lines += [f"| {what} | {why} |" for what, why in ADDITIONS.items()]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Compared:
    """A setting in words, in the paper's study and in ours; `reason` is empty where both are the same."""

    label: str
    strict: str
    ours: str
    reason: str


def comparison() -> Iterator[Compared]:
    reasons = {deviation.setting: deviation.reason for deviation in DEVIATIONS}
    for f in fields(Preset):
        strict, ours = (_words(getattr(p, f.name)) for p in (BRAINBENCH_STRICT, BRAINBENCH))
        yield Compared(LABELS[f.name], strict, ours, reasons.get(f.name, ""))


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(FIELD_WORDS.get(str(name), str(name)) for name in value)
    # 1 == True, and counts are numbers
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return WORDS.get(value, str(value))
