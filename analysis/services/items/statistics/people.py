"""What people made of one version, by study, and what those who judged it said of the study."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.item_figures import KINDS, valid_judgments
from analysis.stats.estimates import Mean, Proportion, mean_of, proportion
from experiment.models import Item, Participant, Study
from experiment.models.studies import StudyQuerySet

N_COMMENTS = 20


@dataclass(frozen=True)
class StudyPart:
    """Valid judgments of one study, or of all (title empty). recognised: of those who were asked; median_rt_ms: of those timed."""

    title: str
    slug: str
    accuracy: Proportion
    median_rt_ms: float | None
    recognised: Proportion | None
    confidence_right: Mean | None
    confidence_wrong: Mean | None


@dataclass(frozen=True)
class Said:
    """A comment on the study, by somebody who judged the test case."""

    text: str
    study: str


def study_parts(item: Item, studies: StudyQuerySet) -> tuple[StudyPart, ...]:
    """Each study's part, and where they are several, all of them first."""
    columns = ("trial__participant__study", "correct", "confidence", "rt_ms", "recognised")
    rows = list(valid_judgments(studies).filter(trial__item=item).values_list(*columns))
    by_study: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for study, *row in rows:
        by_study[study].append(tuple(row))
    found = Study.objects.filter(pk__in=by_study).order_by("title")
    parts = [_part(study.title, study.slug, by_study[study.pk]) for study in found]
    if len(parts) > 1:
        parts.insert(0, _part("", "", [tuple(row) for _, *row in rows]))
    return tuple(parts)


def _part(title: str, slug: str, rows: Sequence[tuple[object, ...]]) -> StudyPart:
    # None, where nothing was said, becomes NaN
    correct, confidence, rt_ms, recognised = np.array(rows, dtype=float).T
    timed, asked = rt_ms[~np.isnan(rt_ms)], recognised[~np.isnan(recognised)]
    return StudyPart(
        title,
        slug,
        proportion(correct),
        float(np.median(timed)) if len(timed) else None,
        proportion(asked) if len(asked) else None,
        _mean(confidence[correct == 1]),
        _mean(confidence[correct == 0]),
    )


def _mean(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Mean | None:
    known = values[~np.isnan(values)]
    return mean_of(known, (1, 100)) if len(known) else None


def comments(item: Item, studies: StudyQuerySet) -> tuple[Said, ...]:
    """The newest ones, of studies whose free comments the person may read."""
    people = Participant.objects.finished().filter(
        study__in=studies.order_by().values("pk"),
        kind__in=KINDS,
        trials__item=item,
        trials__judgment__isnull=False,
    )
    rows = people.exclude(comments="").order_by("-finished_at")
    found = rows.values_list("comments", "study__title")[:N_COMMENTS]
    return tuple(Said(text, title) for text, title in found)
