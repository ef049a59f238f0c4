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
from analysis.presentation import Table
from analysis.report.chapter import SourceResults
from analysis.report.contents import CHAPTERS, chapter_named
from lib.formatting import DASH
from tests.analysis.advised_made import with_advice
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import ACCURACY, built_of, page_of, results_of

CROSSED = chapter_named("crossed")
# Of sentences: a guess, the level of intervals, the end of scales, the level of tests, and the ends of p
CONSTANTS = {50.0, 95.0, 100.0, 0.05, 0.001, 0.999}
NUMBER = re.compile(r"(?<![\w.])[-\u2212]?\d[\d,]*(?:\.\d+)?|(?<![\w.])[-\u2212]?\.\d+")

NO_RANGE = re.compile(r"(?:between|from) (\d[\d.,]*%?) (?:and|to) \1(?![\d.,]*\d)")


def tied(data: SourceData) -> SourceData:
    return replace(data, full=data.full.assign(points=0.5, ppl_altered=data.full["ppl_original"]))


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
    "no models": lambda: (lambda data: replace(data, full=data.full.iloc[:0]))(make_data()),
    "three arms": lambda: with_advice(),
    "two arms": lambda: with_advice(has_beside=False, n_people=12, n_items=12, each=4),
    "asked": asked,
}


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
    """Whether a result is printed so: as it is, in percent, in thousandths (of seconds), or without its sign."""
    half = 0.5 * 10.0**-digits + 1e-9
    return any(
        (np.abs(np.abs(known) * scale - abs(value)) <= half).any() for scale in (1, 100, 1e-3)
    )


def unknown_numbers(data: SourceData) -> list[str]:
    data = replace(data, resamples=20)
    accuracy, crossed = (built_of(data, one).results for one in (ACCURACY, CROSSED))
    others, wrong = [*values_in(to_json(accuracy)), *values_in(to_json(crossed))], []
    for chapter in CHAPTERS:
        if chapter.id == "teams":  # has tests of its own, and takes long
            continue
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
        text = _without_names(strip_tags(sentences), data)
        wrong += [f"{chapter.id}: {one.group()}" for one in NO_RANGE.finditer(text)]
        wrong += [
            f"{chapter.id}: {value} in {' '.join(text.split())[:600]}"
            for value, digits in printed(text)
            if value not in CONSTANTS and not is_known(value, digits, known)
        ]
    return wrong


def _without_names(text: str, data: SourceData) -> str:
    """The names of models and test cases have numbers."""
    names = [*data.models["display_name"], *data.models["name"], *data.items["key"]]
    for name in sorted(map(str, names), key=len, reverse=True):
        text = text.replace(name, "")
    return text


@pytest.mark.parametrize("study", STUDIES)
def test_a_sentence_has_no_number_that_its_chapter_does_not_have(study: str) -> None:
    assert unknown_numbers(STUDIES[study]()) == []


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
