"""Every conclusion follows a verdict with a family, and says nothing where verdicts say that there are too few."""

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pytest
from django.utils.html import strip_tags

from analysis.data.dataset import SourceData
from analysis.management.commands.write_docs import every_conclusion
from analysis.report.conclusions import Conclusion, conclusions, too_few, verdicts_in
from analysis.report.contents import CHAPTERS
from analysis.stats.verdicts import Concludes, Verdict
from tests.analysis.advised_made import with_advice
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.graded_made import make_graded
from tests.analysis.report.chapters.chapter_results import ACCURACY, page_of, results_of

CONCLUDES = re.compile(
    r"\b(clearly|[1-9]\d* of \d+ (?:is|are) significant|rose|fell with|rises with|falls with|overconfident|underconfident|prefers side|"
    r"(?:is|are|was|were) (?:on average )?(?:more|less) accurate|Test cases vary|lose accuracy|gain accuracy|"
    r"more readily|more often than|no clear|easier for|harder for)\b"
)


@dataclass
class Made:
    own: Annotated[Verdict, Concludes("what")]
    several: tuple["Annotated[Verdict | None, Concludes('each')]", ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.own


def test_each_conclusion_has_a_family():
    assert all(about for _where, _path, about in every_conclusion())


def test_verdicts_are_found_in_fields_in_what_they_hold_and_in_properties():
    named = {one.path: one.about and one.about.what for one in conclusions(Made)}
    assert named == {"own": "what", "several": "each", "verdict": None}
    assert Conclusion("verdict", None) in [*conclusions(Made)]
    assert [*verdicts_in(Made(Verdict.ABOVE, (Verdict.BELOW, None)))] == [
        Verdict.ABOVE,
        Verdict.BELOW,
        Verdict.ABOVE,
    ]


def test_a_chapter_says_first_where_each_verdict_is_that_there_are_too_few():
    assert too_few(Made(Verdict.TOO_FEW))
    assert not too_few(Made(Verdict.TOO_FEW, (Verdict.UNCLEAR,)))
    assert not too_few(())


def whole() -> SourceData:
    """Data of everything: people with advice, models that were asked, graded answers."""
    data = with_advice()
    margins = 40 * data.difficulty_nats
    sure = lambda p: np.full(len(p), 90.0)  # noqa: E731
    asked = [
        (n, answers_of(margins[n], bias=2.0, confidence=sure, has_log_odds=True)) for n in (0, 1)
    ]
    return replace(with_asked(data, *asked), graded=make_graded())


# Teams have tests of each verdict of their own
@pytest.mark.parametrize("name", [c.name for c in CHAPTERS if c.name != "teams"])
def test_no_sentence_concludes_where_there_are_too_few(monkeypatch: Any, name: str) -> None:
    def few(*_args: Any, **_named: Any) -> Verdict:
        return Verdict.TOO_FEW

    monkeypatch.setattr(Verdict, "of", few)
    monkeypatch.setattr(Verdict, "of_interval", few)
    chapter = next(one for one in CHAPTERS if one.name == name)
    found = results_of(whole(), ACCURACY, chapter)
    if None in chapter.missing_in(found):
        text = " ".join(strip_tags(page_of(chapter, found)[1]).split())
        sentences = [one for one in re.split(r"(?<=[.;]) ", text) if "oo few" not in one]
        assert CONCLUDES.findall(" ".join(sentences)) == []
