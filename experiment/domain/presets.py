"""The studies that can be made by name: the paper's, as printed, and ours, with a reason for each difference. Pure.

The one source for `create_study`, and for the table of docs/protocol.md that `write_protocol` makes from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from experiment.domain.assignment import Stratum

Policy = Literal["balanced", "paper"]


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

    @property
    def settings(self) -> dict[str, Any]:
        """What is a column of the study: all but where the test cases come from."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        del values["collection"]
        return values | {"demographic_fields": list(self.demographic_fields)}

    @property
    def counts(self) -> dict[Stratum, int]:
        return {"human": self.human_items, "machine": self.machine_items, "catch": self.catch_items}


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
)

DEVIATIONS = (
    Deviation(
        "policy",
        "balanced",
        "The paper's counter counts a test case as used when it is given out, so that those of people who leave or are "
        "excluded are judged less often. The draw by expected exposure evens out valid judgments.",
    ),
    Deviation(
        "ratings_required",
        False,
        "Whoever has no view must make a rating up, and it looks like any other. After one reminder a rating may stay "
        "empty.",
    ),
    Deviation(
        "reading_aid",
        True,
        "Both passages stand in the text at once, which is hard to read where many follow one another. Each use is "
        "counted, so that its effect can be examined.",
    ),
    Deviation(
        "debrief_catch_trials",
        False,
        "A catch trial that is named as such no longer catches whoever hears of it from a participant.",
    ),
)

BRAINBENCH = replace(BRAINBENCH_STRICT, **{d.setting: d.value for d in DEVIATIONS})

PRESETS: Mapping[str, Preset] = {
    "brainbench": BRAINBENCH,
    "brainbench-strict": BRAINBENCH_STRICT,
}
