"""The first answer of a report in words: its numbers, and what follows from them."""

from collections.abc import Sequence

from analysis.presentation import KeyNumber, Paragraph
from analysis.report.headline import Headline
from analysis.stats.arrays import Interval
from analysis.stats.verdicts import Verdict
from lib import formatting as f

OVER_BOTH = "people and test cases"


def numbers(answer: Headline, *, is_simulated: bool) -> list[KeyNumber]:
    """Numbers of people, of models and of their difference, as far as they are known."""
    found = []
    if people := answer.humans:
        name = "Simulated participants" if is_simulated else "Humans"
        of = _with_ci(f.count(people.n, "trial"), people.ci95, OVER_BOTH)
        found.append(KeyNumber(name, f.percent(people.value), of))
    if models := answer.models:
        name = answer.model or "Language models, mean"
        counted = f.count(models.n, "test case" if answer.model else "model")
        of = _with_ci(counted, models.ci95, "test cases")
        found.append(KeyNumber(name, f.percent(models.value), of))
    if gap := answer.difference:
        interval = f"95% CI over {OVER_BOTH} {f.points_interval(gap.ci95)}"
        about = f"points; {interval if gap.ci95 else 'too few data for a clustered interval'}"
        found.append(KeyNumber("Difference", f.points(gap.value), about))
    return found


def _with_ci(counted: str, ci95: Interval | None, over: str) -> str:
    return f"95% CI over {over} {f.share_interval(ci95)}; {counted}" if ci95 else counted


def conclusion(answer: Headline, *, is_simulated: bool) -> Sequence[Paragraph]:
    """Conclusion on the more accurate side; a caution instead where there are too few people or test cases."""
    if answer.few:
        return [Paragraph(answer.few.words, is_strong=True)]
    if answer.verdict is None:
        return []
    people = "the simulated participants" if is_simulated else "the participants"
    is_one = answer.n_models == 1
    models = "language model was" if is_one else f"{answer.n_models} language models were"
    on_average = models if is_one else f"{models} on average"
    sampled = "even when participants and test cases are both treated as random samples"
    said: str = {
        Verdict.ABOVE: f"The {on_average} more accurate than {people}, {sampled}.",
        Verdict.BELOW: f"The {on_average} less accurate than {people}, {sampled}.",
        Verdict.UNCLEAR: f"The data do not show whether {people} or the {models} more accurate: the 95% CI of the difference, clustered by "
        "participants and test cases, includes 0.",
        Verdict.TOO_FEW: "There are too few participants or test cases to say whether "
        f"{people} or the {models} more accurate.",
    }[answer.verdict]
    return [Paragraph(said)]
