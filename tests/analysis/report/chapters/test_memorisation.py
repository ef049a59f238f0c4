"""The chapter on memorisation: published ratios, and texts that are missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.charts.texts import HOLLOW
from analysis.codec import MissingResult, need
from analysis.data.dataset import SourceData
from analysis.report.chapter import Chapter, SourceResults
from analysis.report.chapters.memorisation.results import (
    CutoffPart,
    Cutoffs,
    Memorisation,
    ModelCutoff,
    ModelDates,
    ModelRatios,
    PeopleDates,
    PublicationDate,
    Ratios,
    TextKind,
    TextRatios,
)
from analysis.report.chapters.memorisation.words import (
    memorisation_figure,
    publication_date_figure,
)
from analysis.report.contents import chapter_named
from analysis.stats.distributions import spread_of
from analysis.stats.estimates import proportion
from analysis.stats.families import Family
from analysis.stats.publication_date import DateCorrelation, DateDirection
from analysis.stats.trial_slope import TrialSlope
from tests.analysis.report.chapters.chapter_results import page_of, results_of

MEMORISATION = chapter_named("memorisation")
PUBLICATION_DATE = chapter_named("publication_date")


EXACT = 1e-9
FIELDS = {"q25": "q1", "q75": "q3"}
SPREAD = ("n", "median", "mean", "sd", "min", "max", *FIELDS)
ITEMS = {TextKind.ORIGINAL: "brainbench_correct", TextKind.ALTERED: "brainbench_altered"}
LENGTHS = ["zlib_original_bytes", "zlib_altered_bytes"]


def ratios(data: SourceData) -> Ratios:
    return need(results_of(data, MEMORISATION).of(Memorisation).memorisation)


def test_ratios_of_every_published_source_are_those_published(
    published: SourceData, reference: dict[str, Any]
) -> None:
    models = {model.name: model for model in ratios(published).models}
    compared = 0
    for name, expected in reference["memorisation"].items():
        found = {
            ITEMS[s.kind] if s.kind.is_test_case else s.corpus: s for s in models[name].sources
        }
        for source, values in expected.items():
            if not isinstance(values, dict):
                continue
            ours = found[source]
            own = {theirs: getattr(ours.spread, FIELDS.get(theirs, theirs)) for theirs in SPREAD}
            own |= {"ppl_median": ours.ppl_median, "zlib_median": ours.zlib_median}
            own |= {"n_ratio_ge_gettysburg": ours.n_ge_anchor}
            own |= {"auc_brainbench_gt_source": ours.auc_items_gt_source}
            for key in own.keys() & values.keys():
                expected_value = (
                    None if values[key] is None else pytest.approx(values[key], rel=EXACT)
                )
                assert own[key] == expected_value, (name, source, key)
                compared += 1
    assert compared > 200


def test_models_without_lengths_or_corpora_do_not_hide_the_others(small: SourceData) -> None:
    full = small.full.copy()
    full.loc[small.full["model"] == 0, LENGTHS] = np.nan
    some = replace(small, full=full, corpora=small.corpora[small.corpora["model"] == 1])
    models = ratios(some).models
    assert [m.name for m in models] == ["org/model-1", "org/model-2", "org/model-3"]
    assert [len(m.sources) for m in models] == [4, 2, 2]
    assert models[1].sources[0].n_ge_anchor is None

    full[LENGTHS] = np.nan
    references = replace(some, full=full)
    assert [s.auc_items_gt_source for s in ratios(references).models[0].sources] == [None, None]
    nothing = results_of(replace(references, corpora=small.corpora.iloc[:0]), MEMORISATION)
    missing = nothing.of(Memorisation).memorisation
    assert isinstance(missing, MissingResult)
    assert "compressed lengths" in missing.reason


# Before and after the end of the training data


def split(data: SourceData) -> Cutoffs:
    return need(results_of(data, MEMORISATION).of(Memorisation).cutoffs)


def test_published_models_met_only_what_came_after_their_cut_off_where_it_is_known(
    published: SourceData,
) -> None:
    found = {model.name: model for model in split(published).models}
    assert len(found) == 15
    dates = published.items["published"]
    llama = found["meta-llama/Llama-2-70b-hf"]
    assert (llama.cutoff, llama.released) == ("2022-09-30", "2023-07-31")
    assert llama.before is None
    assert dates.min().isoformat() > "2022-09-30"
    assert llama.after is not None
    assert llama.after.items.n == dates.notna().sum()
    assert llama.after.items.n + llama.n_undated == 200
    mistral = found["mistralai/Mistral-7B-v0.1"]
    assert (mistral.cutoff, mistral.before, mistral.after) == (None, None, None)


def test_shares_before_and_after_are_those_of_the_items_of_these_days(small: SourceData) -> None:
    days = small.items["published"].to_numpy()
    middle = np.sort(days)[9].astype("datetime64[D]")
    cutoff = np.array([middle, "NaT", "NaT", "NaT"], dtype="datetime64[D]")
    dated = small.items.assign(published=np.where(np.arange(30) == 29, np.datetime64("NaT"), days))
    found = split(replace(small, items=dated, models=small.models.assign(cutoff=cutoff)))
    own = found.models[0]
    assert own.before is not None
    assert own.after is not None
    assert (own.before.items.n, own.after.items.n, own.n_undated) == (10, 19, 1)
    rows = small.full[small.full["model"] == 0].set_index("item")
    early = rows.loc[np.flatnonzero(days <= middle)]
    assert own.before.items.n_correct == early["points"].sum()
    ratio = early["zlib_original_bytes"] / early["ppl_original"]
    assert own.before.ratio_median == pytest.approx(ratio.median())
    assert len(found.known) == 1


def test_a_model_scored_only_where_dates_are_missing_met_nothing_from_before(
    small: SourceData,
) -> None:
    days, is_undated = small.items["published"].to_numpy(), np.arange(30) >= 20
    last = days.astype("datetime64[D]").max()
    cutoff = np.array([last, last, "NaT", "NaT"], dtype="datetime64[D]")
    dated = small.items.assign(published=np.where(is_undated, np.datetime64("NaT"), days))
    full = small.full[(small.full["model"] != 1) | is_undated[small.full["item"]]]
    data = replace(small, items=dated, models=small.models.assign(cutoff=cutoff), full=full)
    page, _words = page_of(MEMORISATION, results_of(data, MEMORISATION))
    assert page.text[-1].text == (
        "Of 2 models whose training data end on a known date, 1 was scored on no test case that is known to have been published by then. "
        "For 1 model, it is not known when the training data end."
    )


# --- The chapter on publication dates: published correlations, and dates or scores that are missing.


def models_of(data: SourceData) -> tuple[ModelDates, ...]:
    return need(results_of(data, PUBLICATION_DATE).of(PublicationDate).publication_date)


def test_the_published_models_are_one_family_and_show_no_clear_direction(
    published: SourceData,
) -> None:
    found = results_of(published, PUBLICATION_DATE).of(PublicationDate)
    together, people = need(found.publication_date_tests), need(found.publication_date_people)
    assert together.n_tests == 15
    # Difficulties of the models correlate at .75 on average, as the published matrix says
    assert together.mean_correlation == pytest.approx(0.75, abs=0.05)
    assert 1 < together.n_effective < 8
    assert together.n_clear == 0
    assert {model.direction for model in models_of(published)} == {DateDirection.UNCLEAR}
    assert people.direction is DateDirection.UNCLEAR
    # Years, so that the slope of the audit's check with statsmodels is met
    assert people.slope.slope == pytest.approx(0.0636, abs=1e-4)


# --- Their words.


def text_of(chapter: Chapter, results: object) -> list[str]:
    page, _ = page_of(chapter, SourceResults("human", {type(results): results}))
    return [paragraph.text for paragraph in page.text]


UNKNOWN = MissingResult("Not known.", "Enter it.")


def with_anchor(own: Ratios, *n_ge_anchor: int | None) -> Ratios:
    """A model for each number of originals at least as high as the text known by heart."""
    (first, *_) = (model for model in own.models if model.of(TextKind.ANCHOR))
    models = tuple(
        replace(
            first,
            sources=tuple(
                replace(s, n_ge_anchor=n) if s.kind is TextKind.ORIGINAL else s
                for s in first.sources
            ),
        )
        for n in n_ge_anchor
    )
    return replace(own, models=models, anchor_label="The text")


@pytest.mark.parametrize(
    ("n_ge_anchor", "said"),
    [
        ((), "No text that models know by heart was scored for comparison"),
        ((None,), "Models scored a text that they are likely to know by heart (The text), but "),
        ((0, 0), "(The text). The ratio of compressed length to perplexity is higher for this text than for"),
        ((1,), "1 model also scored a text that models are likely to know by heart (The text). For this model, "),
        ((0, 2, 3), "3 models also scored a text that models are likely to know by heart (The text). For 2 of them, "),
    ],
)  # fmt: skip
def test_ratios_are_compared_with_those_of_a_text_known_by_heart(
    small: SourceData, n_ge_anchor: tuple[int | None, ...], said: str
) -> None:
    own = with_anchor(ratios(small), *n_ge_anchor)
    (text,) = text_of(MEMORISATION, Memorisation(own, UNKNOWN))
    assert said in text
    assert ("A high ratio is a sign of memorisation" in text) == any(
        n is not None for n in n_ge_anchor
    )


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ((False, False), "For 2 models, it is known when the training data end, and no test case"),
        ((False, True), "Of 2 models whose training data end on a known date, 1 was scored on no"),
        ((False, False, True), "Of 3 models whose training data end on a known date, 2 were scored"),
        ((True,), "The training data of 1 model end on a known date, and this model was scored on"),
        ((True, True), "Each of 2 models whose training data end on a known date was scored on"),
    ],
)  # fmt: skip
def test_models_scored_on_test_cases_before_their_cutoff_are_counted(
    before: tuple[bool, ...], said: str
) -> None:
    part = CutoffPart(proportion([1, 0, 1]))
    models = tuple(
        ModelCutoff("model", "", "", "", "2023-01-01", None, part if is_before else None, part, 0)
        for is_before in before
    )
    (text,) = text_of(MEMORISATION, Memorisation(UNKNOWN, Cutoffs(models)))
    assert text.startswith(said)
    assert text.count(".") == 1


def source_named(label: str, kind: TextKind) -> TextRatios:
    return TextRatios(label, label, kind, 9.0, 90.0, None, 0, 0.5, spread_of(np.array([3.0, 4.0])))


ORIGINAL, CORPUS, ANCHOR = (
    source_named(kind.value, kind) for kind in (TextKind.ORIGINAL, TextKind.CORPUS, TextKind.ANCHOR)
)


@pytest.mark.parametrize(
    ("sources", "n_detailed", "shown"),
    [
        ([[ORIGINAL]] * 13, 0, "The figure shows only the original versions of the test cases."),
        ([[ORIGINAL]] * 2, 2, ""),
        ([[ORIGINAL, CORPUS], [ORIGINAL]], 1, "for the model that scored reference texts, and only the original versions of the test cases for the other."),
        ([[ORIGINAL, CORPUS]] * 2 + [[ORIGINAL]] * 2, 2, "for the 2 models that scored reference texts, and only the original versions of the test cases for the other 2."),
        ([[ORIGINAL, CORPUS]] * 14 + [[ORIGINAL]], 12, "for the first 12 of the 14 models that scored reference texts, and only the original versions of the test cases for the other 3."),
    ],
)  # fmt: skip
def test_the_caption_says_which_models_have_all_their_texts(
    sources: list[list[TextRatios]], n_detailed: int, shown: str
) -> None:
    models = [ModelRatios(f"m{n}", "", "", "", tuple(own)) for n, own in enumerate(sources)]
    drawn = drawn_of(models)
    names = {model.name: model.name for model in models}
    text = memorisation_figure(drawn, models, names, None, n_detailed)
    assert text.caption.endswith(shown or "thin lines the range.")
    assert "The diamond" not in text.caption
    has_corpus = CORPUS in sources[0]
    assert ("; up to 2 texts per corpus. Ratio: " in text.caption) == has_corpus
    assert text.alt.startswith("Median ratios: m0, 3.5 for the original versions of the test cases")
    n_more = len([own for own in sources if CORPUS in own] or sources) - 5
    more = f"; and {n_more} more models." if n_more > 0 else "."
    assert text.alt.endswith(f"of the test cases{more}")


def drawn_of(models: list[ModelRatios], *, is_chat: bool = False) -> pd.DataFrame:
    rows = [(s.kind.value, s.spread.n, is_chat) for model in models for s in model.sources]
    return pd.DataFrame(rows, columns=["kind", "n", "is_chat"])


def test_the_alternative_text_has_the_ratios_that_are_known() -> None:
    models = [
        ModelRatios(name, "", "", "", sources)
        for name, sources in (
            ("both", (ORIGINAL, ANCHOR)),
            ("by heart", (ANCHOR,)),
            ("others", (CORPUS,)),
        )
    ]
    names = {model.name: model.name for model in models}
    text = memorisation_figure(drawn_of(models, is_chat=True), models, names, "The text", 3)
    known = "3.5 for the text that models are likely to know by heart"
    assert text.alt == (
        f"Median ratios: both, 3.5 for the original versions of the test cases against {known}; by heart, {known}; others, reference texts only."
    )
    assert text.caption.startswith(
        "n = 3 models; up to 2 test cases; up to 2 texts per corpus. Ratio: "
    )
    assert "The diamond: The text, a text that models are likely to know by heart." in text.caption
    assert text.caption.endswith(HOLLOW)


def dated(direction: DateDirection, rho: float = 0.25) -> ModelDates:
    correlation = DateCorrelation(rho, 0.2, 30, (-0.1, 0.6), 20)
    return ModelDates("model", "", "", "", correlation=correlation, holm_p=0.4, direction=direction)


EASIER, HARDER, UNCLEAR, TOO_FEW = (
    DateDirection.NEWER_EASIER,
    DateDirection.NEWER_HARDER,
    DateDirection.UNCLEAR,
    DateDirection.TOO_FEW,
)


@pytest.mark.parametrize(
    ("directions", "said"),
    [
        ((EASIER, UNCLEAR), "Newer test cases are easier for 1 model."),
        ((EASIER, EASIER, HARDER), "Newer test cases are easier for 2 models. Newer test cases are harder for 1 model."),
        ((HARDER, TOO_FEW), "Newer test cases are harder for 1 model. For 1 model, there are too few test cases to say whether the date matters."),
        ((TOO_FEW, TOO_FEW), "For 2 models, there are too few test cases to say whether the date matters."),
        ((UNCLEAR, UNCLEAR), "The models therefore show no clear direction."),
    ],
)  # fmt: skip
def test_directions_of_models_follow_their_verdicts(
    directions: tuple[DateDirection, ...], said: str
) -> None:
    models = tuple(dated(one, rho=0.1 * n) for n, one in enumerate(directions, 1))
    tests = Family(len(models), 1.5, 0.25, 1, 0.01)
    (text,) = text_of(PUBLICATION_DATE, PublicationDate(models, tests, UNKNOWN))
    assert text.endswith(f" independent tests. {said}")
    assert f"lie between .100 and .{len(models)}00 in {len(models)} models. As one" in text
    (untested,) = text_of(PUBLICATION_DATE, PublicationDate(models, UNKNOWN, UNKNOWN))
    assert untested.endswith(f" in {len(models)} models.")


def test_a_single_model_has_its_correlation(small: SourceData) -> None:
    known = " mean easier) is .250 (95% CI \N{MINUS SIGN}.100 to .600), 30 test cases, after Holm p"
    for direction, words in (
        (UNCLEAR, "; this is no clear direction."),
        (EASIER, "; newer test cases are easier for it."),
        (HARDER, "; newer test cases are harder for it."),
        (TOO_FEW, "; there are too few test cases to say whether the date matters."),
    ):
        own = PublicationDate((dated(direction),), Family(1, 1.0, None, 0, 0.4), UNKNOWN)
        (text,) = text_of(PUBLICATION_DATE, own)
        assert known in text
        assert text.endswith(words)
    assert text_of(PUBLICATION_DATE, PublicationDate(UNKNOWN, UNKNOWN, UNKNOWN)) == []


@pytest.mark.parametrize(
    ("direction", "said"),
    [
        (EASIER, "newer test cases are easier"),
        (HARDER, "newer test cases are harder"),
        (TOO_FEW, "there are too few participants or test cases to say whether the date matters"),
        (UNCLEAR, "the date shows no clear direction"),
    ],
)
def test_the_sentence_on_people_follows_their_verdict(direction: DateDirection, said: str) -> None:
    slope = TrialSlope(99, 20, 30, 0.5, 0.1, 12.0, (0.3, 0.7), 0.004)
    people = PeopleDates(direction, slope, 0.008)
    (text,) = text_of(PUBLICATION_DATE, PublicationDate(UNKNOWN, UNKNOWN, people))
    assert text.replace("\N{NO-BREAK SPACE}", " ") == (
        f"For people, {said} (slope over trials 0.50 log-odds per year, 95% CI 0.30 to 0.70, p = .004, after Holm p = .008, 99 trials)."
    )


def test_the_caption_says_how_many_dates_are_drawn() -> None:
    one = publication_date_figure([dated(UNCLEAR)], 30, None)
    assert one.caption.startswith("n = up to 30 test cases per model, 1 model. ")
    assert "evenly spaced" not in one.caption
    assert one.alt.endswith(" in 1 model: 0.25.")
    two = publication_date_figure([dated(UNCLEAR), dated(UNCLEAR, 0.5)], 30, 12)
    assert two.caption.endswith(" Every panel shows up to 12 of the test cases, evenly spaced.")
    assert two.alt.endswith(" in 2 models: from 0.25 to 0.50.")
    undefined = replace(dated(UNCLEAR), correlation=UNKNOWN)
    assert publication_date_figure([undefined], 30, None).alt.endswith(" in 1 model: not defined.")
