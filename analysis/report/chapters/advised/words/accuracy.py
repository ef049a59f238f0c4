"""Accuracy with and without advice, in sentences."""

from collections.abc import Iterator

from analysis.codec import present
from analysis.data.exclusions import ASSIGNED
from analysis.presentation import FigureText, Paragraph, itemised, paragraphs, sentences
from analysis.report.chapters.advised.results import (
    AccuracyWithAdvice,
    analyses_of,
)
from analysis.report.chapters.advised.words.estimates import (
    CLUSTERED,
    brackets_of,
    described,
    points_of,
)
from analysis.stats.verdicts import Verdict
from lib import formatting as f

SECOND_LOOK = "Changes from before to after advice also include what a second look does without advice, which these trials do not tell."


def after_advice(own: AccuracyWithAdvice) -> str:
    """Each arm against the reference; where there is no other arm, each before and after advice."""
    right = {one.name: f.percent(one.after.value) for one in own.conditions}
    told = []
    for one in own.comparisons:
        arm = f"In the arm “{one.name}”, people were right in {right[one.name]} of their trials"
        both = f"{arm}, and in the arm “{one.reference}” in {right[one.reference]}"
        points = points_of(one.accuracy, one.p_holm)
        if one.verdict.is_clear:
            size = f.number(100 * abs(one.accuracy.value), 1)
            more = "more" if one.verdict is Verdict.ABOVE else "less"
            brackets = brackets_of(one.accuracy, one.p_holm)
            told.append(f"{arm}, {size} points {more} than in the arm “{one.reference}”{brackets}.")
        elif one.verdict is Verdict.TOO_FEW:
            told.append(
                f"{both}. There are too few participants or test cases to say whether they differ: {points}."
            )
        else:
            told.append(f"{both}, which is not a clear difference: {points}.")
    if not own.comparisons:
        told += [
            f"In the arm “{one.name}”, people were right in {f.percent(before.value)} of their trials before advice and in "
            f"{right[one.name]} after it: {described(change)}."
            for one in own.conditions
            if (before := present(one.before)) and (change := present(one.change))
        ]
    return sentences(*told)


def on_accuracy(own: AccuracyWithAdvice) -> list[Paragraph]:
    changed = [
        f"In {f.count(change.n, 'trial')} of the arm “{one.name}”, the same people were right in {f.percent(before.value)} "
        f"before advice and in {f.percent(one.after.value)} after it: {described(change)}."
        for one in own.conditions
        if (before := present(one.before)) and (change := present(one.change))
    ]
    return [
        Paragraph(
            f"The adviser, shown to participants as “{own.adviser_name}”, was right on {f.percent(own.adviser.accuracy)} of "
            f"{f.count(own.adviser.n, 'test case')} that were judged."
        ),
        *itemised(_other_analyses(own)),
        *itemised(changed if own.comparisons else ()),
        *paragraphs(SECOND_LOOK if changed else ""),
    ]


def _other_analyses(own: AccuracyWithAdvice) -> list[str]:
    """By intention to treat; then arms with another verdict if a rule, or all, exclude nobody."""
    verdicts = {one.name: one.verdict for one in own.comparisons}
    assigned, turned = [], []
    for analysis, one in analyses_of(own):
        verdict = verdicts.get(one.name)
        is_same = one.verdict is verdict
        if analysis.code != ASSIGNED:
            # Without a clear difference in either, no conclusion changes
            if not is_same and (one.verdict.is_clear or (verdict and verdict.is_clear)):
                turned.append(
                    f"The conclusion on “{one.name}” changes in this analysis: {analysis.what}"
                )
            continue
        people = (
            f"all answers of {f.count(one.accuracy.n_participants, 'participant')} of the two arms who gave any "
            f"({f.count(one.accuracy.n, 'trial')})"
        )
        points = points_of(one.accuracy, one.p_holm)
        by_intention = f"By intention to treat, with {people}"
        arms = f"“{one.name}” and “{one.reference}”"
        if is_same and one.verdict is not Verdict.TOO_FEW:
            said = f"Intention to treat, by {people}, gives the same conclusion on “{one.name}” against “{one.reference}”"
        elif one.verdict is Verdict.UNCLEAR:
            said = f"{by_intention}, {arms} do not clearly differ"
        elif one.verdict is Verdict.TOO_FEW:
            said = f"{by_intention}, there are too few participants or test cases to say whether {arms} differ"
        else:
            said = f"{by_intention}, {arms} differ"
        assigned.append(f"{said}: {points}.")
    return [*assigned, *turned] if assigned else []


def times(own: AccuracyWithAdvice) -> Iterator[str]:
    for one in own.comparisons:
        if time := present(one.time):
            ratio = f.with_interval(f.number(time.ratio), f.interval(time.ci95))
            yield f"A trial of the arm “{one.name}” took {ratio} times as long as one of the arm “{one.reference}”."


def advised_figure(own: AccuracyWithAdvice) -> FigureText:
    counted = "; ".join(
        f"{f.count(one.n_trials, 'trial')} of {f.count(one.n_participants, 'participant')} in “{one.name}”"
        for one in own.conditions
    )
    has_first = any(present(one.before) for one in own.conditions)
    drawn = []
    for one in own.conditions:
        before, after = present(one.before), f.percent(one.after.value)
        if before and before.ci95 is not None:
            drawn.append(f"{one.name}: {f.percent(before.value)} before advice, {after} after it")
        else:
            drawn.append(f"{one.name}: {after}")
    return FigureText(
        "Accuracy with and without advice",
        sentences(
            f"n = {counted}.",
            f"Thin lines are {CLUSTERED}",
            "Diamonds are first answers, before advice." if has_first else "",
            "The solid line is the accuracy of the adviser, the dashed line chance.",
        ),
        f"{'; '.join(drawn)}; the adviser alone {f.percent(own.adviser.accuracy)}.",
    )
