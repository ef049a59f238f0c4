"""Agreement: do models find the same items hard as one another, and as people do?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import MODEL_NAME, ModelName, SourceData
from analysis.data.filters import CHOICE
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.agreement import (
    NoiseCeiling,
    Pairs,
    corrected,
    noise_ceiling,
    pairs,
    rank_correlations,
)
from analysis.stats.arrays import Interval
from analysis.stats.crossed_bootstrap import mean_correlations
from analysis.stats.estimates import (
    SHARES,
    Correlation,
    PairedTest,
    defined,
    mean_of,
    paired_t,
    proportion,
    proportion_of_counts,
    spearman,
)
from analysis.stats.integration import isolated_accuracies, swapped_accuracies
from lib.levels import ENOUGH

AGREEMENT_METHOD = (
    "Spearman's rank correlations over test cases. A model's difficulty is PPL(altered) - PPL(original); people's "
    "is the share of correct trials. Mean and standard deviation (with n) are over pairs of models, and over "
    "models. For the means: "
)


@dataclass(frozen=True)
class HumanAgreement(ModelName):
    """A model's difficulties against people's accuracy, item by item."""

    correlation: Correlation | MissingResult

    @property
    def known(self) -> Correlation | None:
        """The correlation where it is defined: both sides vary."""
        return defined(present(self.correlation))


@dataclass(frozen=True)
class Reliability:
    """How far people agree with one another, and the mean correlation of models and people freed of that noise."""

    model_human_mean_corrected: float | None
    halves: NoiseCeiling


@dataclass(frozen=True)
class RankAgreement:
    """`matrix`: Spearman's rho of each two models' difficulties, NaN where it is not defined.

    model_model: why no two models can be compared, where they cannot. Intervals: None below ENOUGH test cases.
    """

    names: tuple[str, ...]
    display_names: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    n_items: int
    method: str
    resamples: int
    seed: int
    model_model: Pairs | MissingResult
    model_model_ci95: Interval | None
    models_human: tuple[HumanAgreement, ...]
    model_human_mean: float | None
    model_human_sd: float | None
    n_models_human: int
    model_human_ci95: Interval | None
    noise_ceiling: Reliability | MissingResult


@dataclass(frozen=True)
class Agreement:
    """Results of the models of the study's set."""

    agreement: RankAgreement | MissingResult


def build_agreement(data: SourceData) -> Built:
    """The results, and the table agreement_matrix (a row for each two models)."""
    members = data.need_models()
    difficulty = data.difficulty[members]
    matrix = rank_correlations(difficulty)
    own = data.models[["name", "method"]].iloc[members]
    others = own.rename(columns={"name": "other", "method": "other_method"})
    table = own.merge(others, how="cross").assign(rho=matrix.ravel())
    people = data.item_accuracy
    with_people = tuple(
        HumanAgreement(**data.model_name(model), correlation=try_estimate(spearman, row, people))
        for model, row in zip(members.tolist(), difficulty, strict=True)
    )
    rhos = np.array([row.known.rho for row in with_people if row.known])
    mean = float(rhos.mean()) if len(rhos) else None
    # Of fewer test cases, resampling gives intervals that are too narrow (86% instead of 95% of six hold a correlation of .9)
    resampled = mean_correlations(difficulty, people, seed=data.seed)
    n_judged = int((~np.isnan(difficulty).all(axis=0) & ~np.isnan(people)).sum())
    found = RankAgreement(
        names=tuple(row.name for row in with_people),
        display_names=tuple(row.display_name for row in with_people),
        matrix=tuple(tuple(row) for row in matrix.tolist()),
        n_items=int((~np.isnan(difficulty)).any(axis=0).sum()),
        method=AGREEMENT_METHOD + resampled.method,
        resamples=resampled.resamples,
        seed=data.seed,
        model_model=try_estimate(pairs, matrix),
        model_model_ci95=resampled.among if resampled.n_items >= ENOUGH else None,
        models_human=with_people,
        model_human_mean=mean,
        model_human_sd=float(rhos.std()) if len(rhos) else None,
        n_models_human=len(rhos),
        model_human_ci95=resampled.with_other if n_judged >= ENOUGH else None,
        noise_ceiling=try_estimate(_reliability, data, mean),
    )
    return Built(Agreement(found), {"agreement_matrix": table})


def _reliability(data: SourceData, mean: float | None) -> Reliability:
    """`mean`: the mean correlation of models and people."""
    trials = data.need_trials()
    right = np.bincount(trials["item"], weights=trials["is_correct"], minlength=data.n_items)
    halves = noise_ceiling(right, data.item_counts, seed=data.seed)
    freed = None if mean is None else corrected(mean, halves)
    return Reliability(model_human_mean_corrected=freed, halves=halves)


# --- Integration: how much accuracy models lose when they read single sentences, or results in a foreign abstract.

INTEGRATION_METHOD = (
    "Isolated: each sentence with a changed passage is scored alone, and accuracy is pooled over sentences or "
    "averaged within each abstract first. Swapped: the results of the text are replaced by those of other studies "
    "of the subfield. A tie counts half. Standard deviations over models are with n-1; tests are paired over "
    "the models that were scored both ways."
)
NOTHING = (
    "No language model of this report has scored single sentences or abstracts with swapped results.",
    "Score a model under these conditions on the Models page of study {study}.",
)
SWAPPED = [*MODEL_NAME, "seed", "n", "n_correct", "n_ties", "accuracy"]


@dataclass(frozen=True)
class SwappedAccuracy:
    """One model's on the n abstracts whose results a seed swapped."""

    seed: int
    accuracy: float
    sem: float
    n: int
    ci95: Interval


@dataclass(frozen=True)
class ModelIntegration(ModelName):
    """Accuracies under each condition, NaN where not scored; isolated_item: averaged within each abstract first.

    full_ci95, isolated_ci95: score intervals of full and isolated_pooled, sentences taken as independent; None where not scored.
    """

    full: float
    full_ci95: Interval | None
    n_items: int
    isolated_pooled: float
    isolated_ci95: Interval | None
    isolated_item: float
    n_sentences: int
    n_items_isolated: int
    swapped: tuple[SwappedAccuracy, ...]

    def swapped_by(self, seed: int) -> float | None:
        """Accuracy on the abstracts whose results this seed swapped."""
        return next((one.accuracy for one in self.swapped if one.seed == seed), None)


@dataclass(frozen=True)
class IsolatedMean:
    """Over models, on single sentences. n_models_below_humans: None without people or models."""

    mean: float | None
    sd: float | None
    ci95: Interval | None
    n_models_below_humans: int | None
    full_vs_isolated: PairedTest | MissingResult


@dataclass(frozen=True)
class SwappedMean:
    """Over the models that scored the abstracts of one seed."""

    seed: int
    n_models: int
    mean: float
    sd: float | None
    ci95: Interval | None
    full_vs_swapped: PairedTest | MissingResult
    swapped_vs_isolated_pooled: PairedTest | MissingResult


@dataclass(frozen=True)
class ContextAccuracy:
    """n_models scored single sentences, n_sentences of n_items at most."""

    n_models: int
    n_sentences: int
    n_items: int
    models: tuple[ModelIntegration, ...]
    swapped: tuple[SwappedMean, ...]
    method: str
    pooled: IsolatedMean
    by_item: IsolatedMean


@dataclass(frozen=True)
class Integration:
    """Results of the models of the study's set."""

    integration: ContextAccuracy | MissingResult


def build_integration(data: SourceData) -> Built:
    """The results, and the tables integration (one row per model) and integration_swapped (model and seed)."""
    members = data.members
    isolated = data.isolated[data.isolated["model"].isin(members)]
    swapped = data.swapped[data.swapped["model"].isin(members)]
    if isolated.empty and swapped.empty:
        raise NotEnough(NOTHING[0], NOTHING[1].format(study=data.study_slug))
    table = _models_table(data, members, isolated)
    foreign = swapped_accuracies(swapped)
    people = float(data.trials["is_correct"].mean()) if len(data.trials) else np.nan
    means = []
    for seed, rows in foreign.groupby("seed"):
        accuracy = rows.set_index("model")["accuracy"].reindex(table.index)
        mean = mean_of(accuracy, SHARES)
        against_whole = try_estimate(paired_t, table["full"], accuracy)
        against_isolated = try_estimate(paired_t, accuracy, table["isolated_pooled"])
        about = (mean.n, mean.mean, mean.sd, mean.ci95)
        means.append(SwappedMean(int(str(seed)), *about, against_whole, against_isolated))
    found = ContextAccuracy(
        n_models=int(table["isolated_pooled"].notna().sum()),
        n_sentences=int(table["n_sentences"].max()),
        n_items=int(table["n_items_isolated"].max()),
        pooled=_isolated_mean(table["full"], table["isolated_pooled"], people),
        by_item=_isolated_mean(table["full"], table["isolated_item"], people),
        models=_models(data, table, isolated, foreign),
        swapped=tuple(means),
        method=INTEGRATION_METHOD,
    )
    names = data.models[[*MODEL_NAME]].iloc[foreign["model"]].reset_index(drop=True)
    tables = {
        "integration": table.reset_index(drop=True),
        "integration_swapped": pd.concat([names, foreign], axis=1)[SWAPPED],
    }
    return Built(Integration(found), tables)


def _models_table(
    data: SourceData, members: npt.NDArray[np.int64], isolated: pd.DataFrame
) -> pd.DataFrame:
    """One row per model that was scored under any condition, and was not asked, indexed by its number."""
    scored = pd.unique(pd.concat([data.full, data.isolated, data.swapped])["model"])
    members = members[np.isin(members, np.asarray(scored))]
    members = members[(data.models["method"].iloc[members] != CHOICE).to_numpy()]
    table = data.models.iloc[members][[*MODEL_NAME, "family"]].copy()
    full = data.full.groupby("model")["points"]
    found = isolated_accuracies(isolated)
    table["full"] = full.mean().reindex(members)
    table["n_items"] = full.size().reindex(members).fillna(0).astype("int64")
    table["isolated_pooled"] = found["pooled"].reindex(members)
    table["isolated_item"] = found["item_mean"].reindex(members)
    for name, column in (("n_sentences", "n_sentences"), ("n_items_isolated", "n_items")):
        table[name] = found[column].reindex(members).fillna(0).astype("int64")
    return table


def _isolated_mean(full: pd.Series, isolated: pd.Series, people: float) -> IsolatedMean:
    mean = present(try_estimate(mean_of, isolated, SHARES))
    return IsolatedMean(
        mean=mean.mean if mean else None,
        sd=mean.sd if mean else None,
        ci95=mean.ci95 if mean else None,
        n_models_below_humans=None
        if mean is None or np.isnan(people)
        else int((isolated < people).sum()),
        full_vs_isolated=try_estimate(paired_t, full, isolated),
    )


def _models(
    data: SourceData, table: pd.DataFrame, isolated: pd.DataFrame, foreign: pd.DataFrame
) -> tuple[ModelIntegration, ...]:
    whole, sentences = (
        {model: proportion(points).ci95 for model, points in rows.groupby("model")["points"]}
        for rows in (data.full, isolated)
    )
    swapped: dict[int, list[SwappedAccuracy]] = {model: [] for model in table.index}
    for row in foreign.to_dict("records"):
        share = proportion_of_counts(int(row["n_correct"]), int(row["n"]), int(row["n_ties"]))
        found = SwappedAccuracy(int(row["seed"]), share.accuracy, share.sem, share.n, share.ci95)
        swapped[row["model"]].append(found)
    return tuple(
        ModelIntegration(
            **data.model_name(model),
            full=row["full"],
            full_ci95=whole.get(model),
            n_items=row["n_items"],
            isolated_pooled=row["isolated_pooled"],
            isolated_ci95=sentences.get(model),
            isolated_item=row["isolated_item"],
            n_sentences=row["n_sentences"],
            n_items_isolated=row["n_items_isolated"],
            swapped=tuple(swapped[model]),
        )
        for model, row in zip(table.index, table.to_dict("records"), strict=True)
    )
