"""Conclusions of the page of a comparison from two sides."""

from dataclasses import dataclass

from analysis.presentation import sentences
from analysis.report.services.compare import Compared
from analysis.stats.two_groups import TwoSamples
from analysis.stats.verdicts import Verdict
from lib import formatting as f

CONCLUSIONS: dict[Verdict, str] = {
    Verdict.ABOVE: "People on the second side are more accurate.",
    Verdict.BELOW: "People on the second side are less accurate.",
    Verdict.UNCLEAR: "People on the two sides do not differ clearly.",
    Verdict.TOO_FEW: "There are too few participants or test cases to say whether people on the two sides differ.",
}


@dataclass(frozen=True, slots=True)
class Words:
    """difference: in points, "" where there is none; tested: what it was tested by. is_one_study: its two versions are compared."""

    found: Compared
    is_one_study: bool

    @property
    def difference(self) -> str:
        return "" if self.found.difference is None else f.points(self.found.difference)

    @property
    def tested(self) -> str:
        if self.found.apart:
            return f"{_interval(self.found.apart)}, treating the two sides as independent."
        if not self.found.same_people:
            return "There are too few people or test cases for an interval."
        if self.is_one_study:
            return (
                "Both versions contain mostly the same trials of the same people, so the difference only describes the effect of the rules and "
                "is not tested."
            )
        return "Both sides contain imported participants, who may be the same people, so the difference is not tested."

    @property
    def shared_items(self) -> str:
        """Test cases that were judged on both sides; two versions of one study have all in common."""
        if self.is_one_study:
            return ""
        n, paired = self.found.n_shared_items, self.found.on_shared
        if not n:
            return "No test case was judged on both sides, so a difference may be due to the test cases."
        return sentences(
            f"{f.count(n, 'test case')} {f.verb(n, 'was', 'were')} judged on both sides.",
            "If a test case that is hard on one side is also hard on the other, the two sides are correlated, and the interval above is "
            "somewhat too wide.",
            f"Paired by test case, on these test cases only: {f.points(paired.difference)} points, {_interval(paired)}."
            if paired
            else "",
        )

    @property
    def conclusion(self) -> str:
        if self.found.verdict is None:
            return ""
        return sentences(
            CONCLUSIONS[self.found.verdict],
            "This goes by the test cases that were judged on both sides."
            if self.found.on_shared
            else "",
        )


def _interval(tested: TwoSamples) -> str:
    return f"95% CI {f.points_interval(tested.ci95)}, {f.p_value(tested.p)}"
