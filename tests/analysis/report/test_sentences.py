"""Every number of a chapter's sentences is one of its results or tables, at the printed precision."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.utils.html import strip_tags

from analysis.codec import to_json
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from analysis.presentation import Table
from analysis.report.chapter import Chapter, Part, SourceResults
from analysis.report.contents import CHAPTERS, chapter_named
from lib.formatting import DASH
from lib.points import points
from tests.analysis.advised_made import with_advice
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.graded_made import make_graded
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import ACCURACY, built_of, page_of, results_of

CROSSED = chapter_named("crossed")
# Of sentences: a guess, the level of intervals, the end of scales, the level of tests, and the ends of p
CONSTANTS = {50.0, 95.0, 100.0, 0.05, 0.001, 0.999}
NUMBER = re.compile(r"(?<![\w.])[-\u2212]?\d[\d,]*(?:\.\d+)?|(?<![\w.])[-\u2212]?\.\d+")

CITATION = re.compile(r"et al\. \(\d{4}\)")
# The percentage of two numbers that stand before it
PERCENTAGE = re.compile(r"(\d[\d,]*) of (\d[\d,]*) \((\d+)%\)")

NO_RANGE = re.compile(r"(?:between|from) (\d[\d.,]*%?) (?:and|to) \1(?![\d.,]*\d)")


def tied(data: SourceData) -> SourceData:
    none = {"points": 0.5, "margin_nats": 0.0, "is_near_tie": True}
    return replace(data, full=data.full.assign(**none, ppl_altered=data.full["ppl_original"]))


def scored(data: SourceData, margins: Callable[[Any, Any], Any]) -> SourceData:
    """margins: of models and test cases, in nats."""
    own = margins(data.full["model"], data.full["item"])
    full = data.full.assign(
        margin_nats=own,
        ppl_original=8.0,
        ppl_altered=8 * np.exp(own),
        points=points(np.asarray(own, dtype=float)),
        is_near_tie=False,
    )
    return replace(data, full=full)


def opposed() -> SourceData:
    """Without people: one model is right everywhere, the other, less sure, on every second test case, so that their team ties."""
    data = scored(
        make_data(n_items=6, n_models=2),
        lambda model, item: np.where(model == 0, 0.4, np.where(item % 2, 0.2, -0.2)),
    )
    return replace(data, trials=data.trials.iloc[:0])


def asked() -> SourceData:
    data = make_data(n_models=2, n_items=24)
    margins = np.random.default_rng(2).normal(0.8, 1, 24)
    sure = lambda p: np.full(len(p), 90.0)  # noqa: E731
    return with_asked(
        data, (0, answers_of(margins, samples=2, bias=0.7, confidence=sure, refused=0.1))
    )


STUDIES: dict[str, Callable[[], SourceData]] = {
    "usual": make_data,
    "tiny": lambda: make_data(n_participants=3, n_items=4, n_models=1, trials_each=3),
    "all right": lambda: make_data(n_participants=12, n_items=12, intercept=50.0),
    "all ties": lambda: tied(make_data(n_participants=12, n_items=12)),
    "one participant": lambda: make_data(n_participants=1, n_items=12),
    "one answer's time": lambda: (
        lambda data: replace(data, trials=data.trials.assign(rt_ms=6_000.0))
    )(make_data(n_participants=8, n_items=12)),
    "no people": lambda: (lambda data: replace(data, trials=data.trials.iloc[:0]))(make_data()),
    "opposed models, no people": opposed,
    "no models": lambda: (lambda data: replace(data, full=data.full.iloc[:0]))(make_data()),
    "three arms": lambda: with_advice(),
    "two arms": lambda: with_advice(has_beside=False, n_people=12, n_items=12, each=4),
    "asked": asked,
}


# Models by their rates of quality and safety, and people
GRADED: dict[str, Callable[[], GradedData]] = {
    "usual": lambda: make_graded(n_questions=120, n_templates=12, n_people=8),
    "two models": lambda: make_graded(truth={"First": (0.5, 0.5), "Second": (0.3, 0.7)}, n_questions=60, n_templates=0),
    "one model": lambda: make_graded(truth={"First": (0.5, 0.5)}, n_questions=40, n_templates=8),
    "few questions": lambda: make_graded(n_questions=4, n_templates=2, n_people=1),
    "all good": lambda: make_graded(truth={"First": (1.0, 0.0), "Second": (1.0, 0.0)}, n_questions=40, n_templates=8),
    "all abstain": lambda: make_graded(truth={"First": (0.0, 1.0), "Second": (0.0, 1.0)}, n_questions=40, n_templates=8),
    "graded by models alone": lambda: make_graded(n_questions=60, n_templates=12, human_share=0.0),
}  # fmt: skip
# Teams of as many people and test cases take long, and say no more
NO_TEAMS = {"usual", "one answer's time", "three arms", "asked"}


def values_in(found: Any) -> Iterator[float]:
    if isinstance(found, Mapping):
        yield float(len(found))
        for value in found.values():
            yield from values_in(value)
    elif isinstance(found, Sequence) and not isinstance(found, str):
        yield float(len(found))
        for value in found:
            yield from values_in(value)
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield float(found)
    elif isinstance(found, str):
        yield from numbers_of(found)


def numbers_of(text: str) -> list[float]:
    return [value for value, _digits in printed(text)]


def printed(text: str) -> list[tuple[float, int]]:
    """Each number of a text, and its decimals."""
    found = []
    for one in NUMBER.findall(text):
        plain = one.replace(",", "").replace("\u2212", "-")
        found.append((float(plain), len(plain.partition(".")[2])))
    return found


def in_tables(tables: Sequence[Table]) -> Iterator[float]:
    for table in tables:
        yield float(len(table.rows))
        for row in table.rows:
            for cell in row:
                yield from numbers_of(strip_tags(str(cell)))


def is_known(value: float, digits: int, known: np.ndarray) -> bool:
    """True if a result is printed so: as it is, in percent, in thousandths (of seconds), or without its sign."""
    half = 0.5 * 10.0**-digits + 1e-9
    return any(
        (np.abs(np.abs(known) * scale - abs(value)) <= half).any() for scale in (1, 100, 1e-3)
    )


def is_percentage(found: re.Match[str]) -> bool:
    part, whole, share = (float(number.replace(",", "")) for number in found.groups())
    return abs(100 * part / whole - share) <= 0.5


def unknown_numbers(data: SourceData, chapters: Sequence[Chapter]) -> list[str]:
    data = replace(data, resamples=20)
    accuracy, crossed = (built_of(data, one).results for one in (ACCURACY, CROSSED))
    others, wrong = [*values_in(to_json(accuracy)), *values_in(to_json(crossed))], []
    if data.graded is not None:
        others.append(float(data.graded.answers["cost"].sum()))
    for chapter in chapters:
        results = built_of(data, chapter).results
        source = SourceResults("human", {type(own): own for own in (accuracy, results)})
        if None not in chapter.missing_in(source):
            continue
        page, sentences = page_of(chapter, source)
        known = np.array(
            [
                *values_in(json.loads(json.dumps(to_json(results)))),
                *others,
                *in_tables(page.tables),
            ]
        )
        text = CITATION.sub("", _without_names(strip_tags(sentences), data))
        wrong += [
            f"{chapter.id}: {one.group()}"
            for one in PERCENTAGE.finditer(text)
            if not is_percentage(one)
        ]
        text = PERCENTAGE.sub(r"\1 of \2", text)
        wrong += [f"{chapter.id}: {one.group()}" for one in NO_RANGE.finditer(text)]
        wrong += [f"{chapter.id}: an empty interval"] * text.count(f"({DASH})")
        wrong += [
            f"{chapter.id}: {value} in {' '.join(text.split())[:600]}"
            for value, digits in printed(text)
            if value not in CONSTANTS and not is_known(value, digits, known)
        ]
    return wrong


def _without_names(text: str, data: SourceData) -> str:
    """The names of models and test cases have numbers."""
    names = [*data.models["display_name"], *data.models["name"], *data.items["key"]]
    if data.graded is not None:
        names += [*data.graded.models["display_name"], *data.graded.judges["name"]]
    for name in sorted(map(str, names), key=len, reverse=True):
        text = text.replace(name, "")
    return text


@pytest.mark.parametrize("study", STUDIES)
def test_a_sentence_has_no_number_that_its_chapter_does_not_have(study: str) -> None:
    chapters = [one for one in CHAPTERS if one.id != "teams" or study not in NO_TEAMS]
    assert unknown_numbers(STUDIES[study](), chapters) == []


@pytest.mark.parametrize("answers", GRADED)
def test_a_sentence_on_graded_answers_has_no_other_number_either(answers: str) -> None:
    data = make_data(n_participants=3, n_items=4, n_models=1, trials_each=3)
    chapters = [one for one in CHAPTERS if one.part is Part.QUESTIONS]
    assert unknown_numbers(replace(data, graded=GRADED[answers]()), chapters) == []


def test_the_sentence_on_following_advice_has_the_observed_shares() -> None:
    """5 of 6 are 83.3%, also where the sensitivity is that of (5 + 1/2) / (6 + 1)."""
    data = with_advice(n_people=16, n_items=12, each=4)
    chapter = chapter_named("advised")
    text = " ".join(
        strip_tags(page_of(chapter, results_of(replace(data, resamples=20), chapter))[1]).split()
    )
    said = re.findall(
        r"arm “([^”]+)”, the final answer was the advised one in ([\d.]+)% of trials with right advice and in ([\d.]+)% of",
        text,
    )
    assert said
    trials = data.advised.assign(follows=lambda t: t["right_after"] == t["advice_right"])
    for arm, *shares in said:
        own = trials[trials["arm"] == arm].groupby("advice_right")["follows"].mean()
        assert [f"{100 * own[kind]:.1f}" for kind in (1, 0)] == shares


def test_a_model_that_was_asked_is_not_called_a_base_model_for_having_no_record() -> None:
    data = asked()
    page, _text = page_of(ACCURACY, results_of(data, ACCURACY))
    kinds: dict[str, str] = {}
    for table in page.tables:
        titles = [str(column.label) for column in table.columns]
        if "Kind" in titles:
            kinds |= {row[titles.index("Model")]: row[titles.index("Kind")] for row in table.rows}
    assert kinds == {"Model 0": "base", "Model 0 (asked)": DASH, "Model 1": "chat"}


@pytest.mark.parametrize("answers", GRADED)
def test_all_who_share_the_highest_rate_of_graded_answers_are_named_with_it(answers: str) -> None:
    """Rates by the rows themselves: good of all, and abstained of those that are not good."""
    data = make_data(n_participants=3, n_items=4, n_models=1, trials_each=3)
    graded, chapter = GRADED[answers](), chapter_named("graded_rates")
    found = results_of(replace(data, graded=graded, resamples=20), chapter)
    text = " ".join(strip_tags(page_of(chapter, found)[1]).split())
    fates = graded.answers.groupby("model")["fate"].value_counts().unstack(fill_value=0)
    fates = fates.reindex(columns=["good", "bad", "abstained"], fill_value=0)
    names = graded.models["display_name"].to_numpy()
    if len(names) == 1:
        return
    quality = fates["good"] / fates.sum(axis=1)
    safety = (fates["abstained"] / (fates["abstained"] + fates["bad"])).dropna()
    sentences = {
        r"good answers came from (.+?)(?:, each with|:) a response quality rate of ([\d.]+)%": quality,
        r"\. ([^.]+(?:\.5[^.]*)?) had the highest observed safety rate.*?: ([\d.]+)%": safety,
    }
    for sentence, rates in sentences.items():
        said = re.findall(sentence, text)
        if len(rates) == 0:
            assert said == []
            continue
        ((listed, number),) = said
        assert listed.replace(" and ", ", ").split(", ") == list(
            names[rates.index[rates == rates.max()]]
        )
        assert float(number) == pytest.approx(100 * rates.max(), abs=0.05 + 1e-9)


def rights_of(data: SourceData) -> dict[str, np.ndarray]:
    """The share right in each trial, or without people on each test case, by the names in sentences; a tie is half."""
    trials, names = data.trials, list(data.models["display_name"])
    item = trials["item"].to_numpy() if len(trials) else np.arange(data.n_items)
    found = {name: data.model_correct[n][item] for n, name in enumerate(names)}
    if len(trials):
        people = trials["is_correct"].to_numpy(dtype=float)
        found |= dict.fromkeys(("Human", "human", "The human", "the human"), people)
    return found


@pytest.mark.parametrize("study", sorted(STUDIES.keys() - NO_TEAMS - {"no models"}))
def test_counts_in_sentences_on_teams_are_those_of_the_rows(study: str) -> None:
    data, chapter = replace(STUDIES[study](), resamples=20), chapter_named("teams")
    text = " ".join(strip_tags(page_of(chapter, results_of(data, ACCURACY, chapter))[1]).split())
    rights, n_found = rights_of(data), 0
    for one, other, *counts in re.findall(
        r"([Tt]he human|Model \d) and ([Tt]he human|Model \d) were both right on (\d+) of (\d+) (?:trials|test cases), "
        r"only [^,]+ on (\d+), only [^,]+ on (\d+), neither on (\d+)",
        text,
    ):
        a, b = rights[one] == 1, rights[other] == 1
        own = [a & b, a | ~a, a & ~b, b & ~a, ~a & ~b]
        assert counts == [str(np.count_nonzero(one)) for one in own]
        n_found += 1
    for members, share in re.findall(
        r"Of ((?:Human|Model \d)(?: \+ (?:Human|Model \d))+), at least one member was right on ([\d.]+)%", text
    ):  # fmt: skip
        most = np.max([rights[one] for one in members.split(" + ")], axis=0)
        assert share == f"{100 * most.mean():.1f}"
        assert "where a tie counts half" in text
        n_found += 1
    for name, share in re.findall(
        r"(?:the best of its members, |On its own, )(Human|Model \d)(?:,[^,]+, is right in| \()([\d.]+)%", text
    ):  # fmt: skip
        assert float(share) == pytest.approx(100 * rights[name].mean(), abs=0.05 + 1e-9)
        n_found += 1
    assert n_found
