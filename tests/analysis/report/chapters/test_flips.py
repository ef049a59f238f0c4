"""The chapter on changes of mind: which models have token records, its tables, its figures."""

from dataclasses import replace

import pandas as pd

from analysis.codec import need
from analysis.data.dataset import SourceData, Tokens
from analysis.report.chapter import SourceResults
from analysis.report.chapters.flips.results import ChangesOfMind, PreferenceFlips
from analysis.report.chapters.flips.words import flips_figure, traces_figure, trajectories_figure
from analysis.report.contents import chapter_named
from tests.analysis.report.chapters.chapter_results import figure_of, page_of, results_of
from tests.analysis.tokens import RISE, both_versions

CHAPTER = chapter_named("flips")


def with_tokens(data: SourceData, n_items: int, *, ends: bool = False, **only: int) -> SourceData:
    """Token records of the first items, of every model or of `model`."""
    table = pd.concat([both_versions(RISE, item=n, seed=n) for n in range(n_items)])
    tokens = Tokens(table)
    if ends:
        whole = ["".join(s if isinstance(s, str) else s[v] for s in RISE) for v in (0, 1)]
        places = [[text.index(" Mice"), len(text)] for text in whole]
        item = dict(zip(("original", "altered"), places, strict=True))
        tokens = Tokens(table, dict.fromkeys(range(n_items), item))
    return replace(data, read_tokens=lambda m: tokens if m in (only.values() or (m,)) else None)


def flips_of(data: SourceData) -> PreferenceFlips:
    return need(results_of(data, CHAPTER).of(ChangesOfMind).flips)


def test_models_with_token_records_are_apart_from_those_without(small: SourceData) -> None:
    data = with_tokens(small, 12, model=2)
    found, built = flips_of(data), CHAPTER.build(data)
    (model,) = found.models
    assert (model.name, model.sentence) == ("org/model-2", None)
    assert model.n_items == model.token.n_items == 12
    sides = model.token.sign_flips
    assert sum(side.n for side in (sides.correct, sides.wrong) if side) == 12
    assert found.names_without_tokens == ("org/model-0", "org/model-1", "org/model-3")
    paths = built.tables["flips_trajectories"]
    assert set(paths["name"]) == {"org/model-2"}
    assert paths.query("place == 1")["n_items"].sum() == 12
    assert "nats where the decision is" in figure_of(CHAPTER, built, "flips_trajectories").alt
    table = built.tables["flips_items"]
    assert table["item"].tolist() == small.items["key"].tolist()[:12]
    assert set(table["level"]) == {"token"}
    assert built.tables["flips_items_nats"]["item"].tolist() == table["item"].tolist()


def test_a_typical_test_case_is_drawn_for_each_pattern(small: SourceData) -> None:
    data = with_tokens(small, 12, ends=True)
    built = CHAPTER.build(data)
    typical = flips_of(data).typical
    assert typical.name == "org/model-0"  # all have as many test cases: the first
    items = built.tables["flips_items"].query("name == 'org/model-0'")
    traces = built.tables["flips_traces"]
    for example in typical.examples:
        own = items[items["level"] == example.level]
        by_sign = own["category"] == ("NegPos" if example.pattern == "wrong_right" else "PosPos")
        if example.pattern != "wrong_right":
            by_sign &= (own["sign_flips"] > 0) == (example.pattern == "right_wrong_right")
        ends = own[by_sign].set_index("item")["end_difference_ppl"]
        assert len(ends) == example.n_items
        assert ends[example.item] == ends.sort_values().iloc[(len(ends) - 1) // 2]
        about = (traces["level"] == example.level) & (traces["pattern"] == example.pattern)
        assert traces[about]["difference_ppl"].iloc[-1] == ends[example.item]
    assert {example.level for example in typical.examples} == {"token", "sentence"}
    figure = figure_of(CHAPTER, built, "flips_traces")
    assert all(example.item in figure.caption for example in typical.examples)


# --- Its words.


def source_of(own: PreferenceFlips) -> SourceResults:
    return SourceResults("human", {ChangesOfMind: ChangesOfMind(own)})


def test_means_over_models_are_said_by_token_and_by_sentence(small: SourceData) -> None:
    own = flips_of(with_tokens(small, 12, ends=True))
    page, _ = page_of(CHAPTER, source_of(own))
    difference, ratio = page.text
    assert difference.text.endswith("The last difference is the decision. Means over 4 models:")
    wrong, right, changes = difference.items
    assert wrong == page.finding
    assert wrong.startswith("Of the test cases in which a model prefers the altered text")
    assert right.startswith("Of those in which it prefers the original there, ")
    assert wrong.count("By sentence instead of by token: ") == 1
    assert right.count("By sentence instead of by token: ") == 1
    assert changes.startswith("The sign changes ")
    assert " of 48 decisions of 4 models its final sign is opposite to the model's" in ratio.text
    figure = flips_figure(own.models, 0.5)
    assert figure.caption.startswith("n = 4 models, up to 12 test cases each. Bars: ")
    assert figure.caption.endswith(" of 4 models its final sign is opposite to the decision.")
    assert figure.alt.startswith("In 50.0% of the test cases ")
    assert figure.alt.endswith(" at the end (mean of 4 models).")


def test_unknown_values_of_a_model_are_not_mentioned(small: SourceData) -> None:
    own = flips_of(with_tokens(small, 12, model=2))
    (model,) = own.models
    page, _ = page_of(CHAPTER, source_of(own))
    assert "Means over" not in page.text[0].text
    assert not [one for one in page.text[0].items if "By sentence" in one]
    assert " of 12 test cases its final sign is opposite to" in page.text[1].text

    signs = replace(model.token.sign_flips, wrong=None)
    token = replace(model.token, wrong_ends_right=None, right_ends_right=None, sign_flips=signs)
    less = replace(model, token=token, log_likelihood_ratio=None)
    page, _ = page_of(CHAPTER, source_of(replace(own, models=(less, less))))
    (difference,) = page.text
    assert (difference.items, page.finding) == ([], "")
    assert difference.text.endswith("The last difference is the decision.")
    figure = flips_figure([less], 0.25)
    assert figure.caption.startswith("n = 1 model, up to 12 test cases. Bars: ")
    assert "log-likelihood" not in figure.caption
    assert figure.alt.endswith(" at the end (1 model).")


def test_the_ends_of_trajectories_are_told_by_the_decision(small: SourceData) -> None:
    (model,) = flips_of(with_tokens(small, 12, model=2)).models
    one = trajectories_figure([model], 2.0, None).alt
    assert one == (
        "Median log-likelihood ratio at the text's end: 2.0 nats where the decision is right."
    )
    two = trajectories_figure([model, model], 2.0, -1.0).alt
    assert two == (
        "Median log-likelihood ratio at the text's end, mean over 2 models: 2.0 nats where the decision is right, "
        "\N{MINUS SIGN}1.0 nats where the decision is wrong."
    )


def test_sentences_stand_beside_tokens_where_they_are_drawn(small: SourceData) -> None:
    typical = flips_of(with_tokens(small, 12, ends=True)).typical
    for has_sentences in (True, False):
        text = traces_figure(typical, has_sentences=has_sentences)
        assert ("Left by token, right by sentence." in text.caption) == has_sentences
        assert text.alt.startswith("Traces of Model 0, each with its changed passages shaded: ")
