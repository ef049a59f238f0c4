"""Options of trying teams. Data alone: the pages know it without loading what computes."""

from dataclasses import asdict, dataclass
from typing import Any

from analysis.data.filters import SOURCES, ReportOptions, UnknownChoiceError

# Those of analysis.teams.domain.runs, which is heavy to load
METHODS = ("logistic", "as-published", "bayesian", "majority", "most-confident", "average")
OUT_OF = ("item", "participant")
MOST_HUMANS = 9
# Of the models in the teams of the published analysis of BrainBench
PUBLISHED = tuple(f"meta-llama/Llama-2-{size}-chat-hf" for size in ("7b", "13b", "70b"))


@dataclass(frozen=True)
class TeamOptions:
    """Options of a team and how it is tried.

    members: names of models, or unique parts of names; "human", repeated for several; none: the study's panel (one human
        and the three most accurate models). all_subsets: every team that these members can form, of at most `up_to` of
        them (0: any number). out_of: what is held out besides items. The other options are those of the report.
    """

    source: str = "human"
    members: tuple[str, ...] = ()
    method: str = "logistic"
    all_subsets: bool = False
    up_to: int = 0
    out_of: str = "item"
    participants: str = ""
    texts: str = "as-published"
    trials: str = "analysed"
    seed: int = 42
    resamples: int = 10_000

    def __post_init__(self) -> None:
        known = {"source": SOURCES, "method": METHODS, "out_of": OUT_OF}
        for name, choices in known.items():
            if (value := getattr(self, name)) not in choices:
                words = ", ".join(choices)
                raise UnknownChoiceError(f"{name}: “{value}” is not one of {words}")
        if self.up_to < 0:
            raise UnknownChoiceError(f"up_to: {self.up_to} is below 0")
        self.of_report()  # its own checks

    def of_report(self) -> ReportOptions:
        return ReportOptions(
            source=self.source,
            participants=self.participants,
            texts=self.texts,
            trials=self.trials,
            seed=self.seed,
            resamples=self.resamples,
        )

    def as_dict(self) -> dict[str, Any]:
        return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
