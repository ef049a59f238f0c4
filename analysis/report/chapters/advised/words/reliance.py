"""Reliance on advice, in sentences."""

from collections.abc import Iterator, Sequence

from analysis.codec import need, present
from analysis.presentation import FigureText, Paragraph, itemised, sentences
from analysis.report.chapters.advised.results import ConditionReliance, Reliance
from analysis.report.chapters.advised.words.estimates import CLUSTERED, points_of, share_of
from analysis.stats.reliance.moderators import (
    ADVICE_RIGHT,
    ADVISER,
    EXPERTISE,
    LEARNING,
    OWN,
    POSITION,
    Moderators,
)
from analysis.stats.reliance.trials import Estimate
from analysis.stats.verdicts import Verdict
from lib import formatting as f

# An effect on switching: what it means above 0, and below
SWITCHED = {
    ADVICE_RIGHT: (
        "People switched to right advice more readily than to wrong advice.",
        "People switched to wrong advice more readily than to right advice.",
    ),
    OWN: (
        "The more confident people were of their first answer, the more they switched.",
        "The more confident people were of their first answer, the less they switched.",
    ),
    ADVISER: (
        "The more confident the adviser was, the more often people switched.",
        "The more confident the adviser was, the less often people switched.",
    ),
    EXPERTISE: (
        "The higher people rated their expertise, the more they switched.",
        "The higher people rated their expertise, the less they switched.",
    ),
    POSITION: (
        "People switched more in later trials.",
        "People switched less in later trials.",
    ),
    LEARNING: (
        "In later trials, people were better at distinguishing right from wrong advice.",
        "In later trials, people were worse at distinguishing right from wrong advice.",
    ),
}
# What is said of a weight of advice that is not clear
WEIGHED = {
    Verdict.UNCLEAR: "This is not clearly different from advice without weight.",
    Verdict.TOO_FEW: "There are too few participants, test cases or changes of confidence to say whether advice had any weight.",
}


def on_reliance(reliance: Reliance) -> list[Paragraph]:
    arms = [one for one in reliance.conditions if one.is_advised]
    answers, weighed, rated = [], [], []
    for arm in arms:
        if (rair := present(arm.rair)) and (rsr := present(arm.rsr)):
            answers.append(
                f"In the arm “{arm.name}”, people corrected {share_of(rair)} of {f.number(rair.n, 0)} wrong first answers when the advice "
                f"was right, and kept {share_of(rsr)} of {f.number(rsr.n, 0)} right ones when it was wrong."
            )
        if weight := present(arm.weight):
            corrected = "" if weight.p_holm is None else f" (after Holm {f.p_value(weight.p_holm)})"
            weighed.append(
                sentences(
                    f"In the arm “{arm.name}”, after equal first answers, final confidence differed by {share_of(weight.slope)} of a "
                    f"difference in advice, over {f.count(weight.slope.n, 'trial')}{corrected}.",
                    WEIGHED.get(weight.verdict, ""),
                )
            )
        if both := present(arm.calibration):
            before, after = (
                f.points(one.overconfidence.value) for one in (both.before, both.after)
            )
            change = points_of(both.change_overconfidence, both.p_holm)
            side = {Verdict.ABOVE: "rose", Verdict.BELOW: "fell"}.get(both.verdict)
            rated.append(
                sentences(
                    f"In the arm “{arm.name}”, mean confidence minus accuracy was {before} points before advice and {after} points after "
                    "it.",
                    f"The difference {side}: {change}." if side else "",
                )
            )
    for arm in arms:
        if signal := present(arm.detection):
            followed = (
                f"In the arm “{arm.name}”, the final answer was the advised one in {f.percent(signal.followed_right)} of trials with right "
                f"advice and in {f.percent(signal.followed_wrong)} of those with wrong advice"
            )
            # d' is that of corrected shares, which differ even where the observed ones are equal
            if signal.d_prime_ci95 is None:
                said = f"{followed}. The sensitivity d' has no interval here."
            else:
                sensitivity = f.with_interval(
                    f.number(signal.d_prime), f.interval(signal.d_prime_ci95)
                )
                said = f"{followed}: a sensitivity d' of {sensitivity}."
            answers.append(said)
    return [*itemised(answers), *itemised(weighed), *itemised(rated)]


def moved(model: Moderators | None) -> Iterator[str]:
    """A sentence for each effect on switching that is clear of 0 in its family."""
    for one in model.effects if model else ():
        if one.verdict in (Verdict.ABOVE, Verdict.BELOW):
            above, below = SWITCHED[one.name]
            yield above if one.verdict is Verdict.ABOVE else below


def advised_flow_figure(arms: Sequence[ConditionReliance]) -> FigureText:
    """arms: those with first answers."""
    trials = {arm.name: f.count(sum(cell.n for cell in need(arm.flow)), "trial") for arm in arms}
    counted = "; ".join(f"{n} in “{name}”" for name, n in trials.items())
    told = []
    for arm in arms:
        switched = [cell for cell in need(arm.flow) if not cell.is_kept]
        corrected = sum(cell.n for cell in switched if cell.is_final_right)
        spoilt = sum(cell.n for cell in switched if not cell.is_final_right)
        told.append(
            f"{arm.name}: of {trials[arm.name]}, {f.number(corrected, 0)} {f.verb(corrected, 'was', 'were')} switched from wrong to right and "
            f"{f.number(spoilt, 0)} from right to wrong"
        )
    return FigureText(
        "From first to final answers",
        f"n = {counted}. Trials by whether the first answer and the advice are right, divided by whether the first answer was kept.",
        f"{'; '.join(told)}.",
    )


def advised_reliance_figure(
    arms: Sequence[tuple[ConditionReliance, Estimate, Estimate]],
) -> FigureText:
    """arms: each with its relative self-reliance and its relative AI reliance."""
    counted = "; ".join(
        f"{f.count(rair.n, 'trial')} with a wrong first answer and right advice, and {f.count(rsr.n, 'trial')} with a right first answer "
        f"and wrong advice, in “{arm.name}”"
        for arm, rsr, rair in arms
    )
    found = "; ".join(
        f"{arm.name}: {f.percent(rair.value)} of wrong first answers corrected where the advice was right, and "
        f"{f.percent(rsr.value)} of right ones kept where it was wrong"
        for arm, rsr, rair in arms
    )
    return FigureText(
        "Appropriateness of reliance",
        f"n = {counted}. Lines are {CLUSTERED} On the dashed line, right and wrong advice are followed alike.",
        f"{found}.",
    )
