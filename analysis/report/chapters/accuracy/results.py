"""How often people chose the original and each language model found it less surprising, and whether they differ.

Long: three chapters of one theme, one after the other.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData
from analysis.data.filters import CHOICE
from analysis.report.chapter import Built
from analysis.report.chapters.participants.results import NOT_GIVEN, SMALL, need_several
from analysis.stats import NotEnough
from analysis.stats.accuracy import TopShare, at_least_percentile, top_share
from analysis.stats.estimates import (
    SHARES,
    Mean,
    PairedTest,
    Proportion,
    binomial_interval,
    mean_of,
    paired_t,
    proportion,
    proportion_of_counts,
)

TOP_SHARE = 0.2
MODELS = (
    *c.model(),
    c.text("Model", "label"),
    c.text("Family", "family", "family"),
    # A model that was asked may be of any kind, so that it is not called a base model for want of a record
    c.text("Kind", lambda m: "chat" if m.is_chat else "" if m.method == CHOICE else "base"),
    c.text("Method", lambda model: "asked" if model.method == CHOICE else "perplexity"),
    *c.data("is_chat", "n_parameters", "in_set=is_chat"),
    c.count("Test cases", "items.n", "n_items"),
    *c.data("n_correct=items.n_correct"),
    c.percent("Accuracy", "items.accuracy", "accuracy"),
    *c.data("sem=items.sem"),
    c.share_ci("95% CI", "items.ci95", "ci_low ci_high"),
    *c.data("n_ties=items.n_ties"),
    c.count("Near-ties", "n_near_ties", "n_near_ties"),
    *c.data("run", "prompt"),
)


@dataclass(frozen=True)
class ExpertTrials:
    """The trials at or above a percentile of self-rated expertise (0 to 100)."""

    threshold: float
    trials: Proportion


@dataclass(frozen=True, kw_only=True)
class TopExpertise(TopShare):
    """The top share of each item's trials by self-rated expertise; the tie_* are accuracies over ways to break ties."""

    above_p80: ExpertTrials | MissingResult


@dataclass(frozen=True, kw_only=True)
class HumanAccuracy:
    trials: Proportion
    n_participants: int
    n_items: int
    over_participants: Mean
    over_items: Mean
    top_expertise: TopExpertise | MissingResult


@dataclass(frozen=True, kw_only=True)
class ModelAccuracy(ModelName):
    """run: the number of its scoring run, or of its run of choices."""

    is_chat: bool
    n_parameters: float
    items: Proportion
    n_near_ties: int
    near_tie_items: tuple[str, ...]
    run: int | None
    prompt: str


@dataclass(frozen=True, kw_only=True)
class ModelsVsHumans:
    """`t_item_means`: the t of the same test against the mean of people's accuracies per item."""

    test: PairedTest
    human_accuracy: float
    t_item_means: float


@dataclass(frozen=True)
class ChatPair:
    base: str
    chat: str
    base_accuracy: float
    chat_accuracy: float


@dataclass(frozen=True)
class BaseVsChat:
    pairs: tuple[ChatPair, ...]
    test: PairedTest | MissingResult


@dataclass(frozen=True)
class Accuracy:
    """`models` are those of the study's set, `extra_models` the others."""

    humans: HumanAccuracy | MissingResult
    models: tuple[ModelAccuracy, ...] | MissingResult
    extra_models: tuple[ModelAccuracy, ...] | MissingResult
    models_mean: Mean | MissingResult
    models_vs_humans: ModelsVsHumans | MissingResult
    base_vs_chat: BaseVsChat | MissingResult

    @property
    def chat_models(self) -> frozenset[str]:
        """Names of the chat models, which figures draw hollow."""
        known = (*(present(self.models) or ()), *(present(self.extra_models) or ()))
        return frozenset(model.name for model in known if model.is_chat)

    @property
    def has_asked(self) -> bool:
        """True if a model of the set took the test by choosing."""
        return any(model.method == CHOICE for model in present(self.models) or ())


def build_accuracy(data: SourceData) -> Built:
    """Each result by itself: what the data cannot support is a MissingResult."""
    extra = tuple(_model(data, model) for model in data.extra_models.tolist())
    results = Accuracy(
        humans=try_estimate(_humans, data),
        models=try_estimate(lambda: tuple(_model(data, m) for m in data.need_models().tolist())),
        extra_models=extra,
        models_mean=try_estimate(lambda: mean_of(accuracies(data, data.need_models()), SHARES)),
        models_vs_humans=try_estimate(_models_vs_humans, data),
        base_vs_chat=try_estimate(_base_vs_chat, data),
    )
    members = present(results.models) or ()
    table = c.tidy(MODELS, (*members, *extra))
    tables = {"models": table.assign(in_set=table["name"].isin([m.name for m in members]))}
    if not data.trials.empty:
        n, share = data.item_counts, data.item_accuracy
        low, high = binomial_interval(np.nan_to_num(share * n), n)
        with np.errstate(invalid="ignore", divide="ignore"):
            sem = np.sqrt(share * (1 - share) / n)
        tables["humans_items"] = pd.DataFrame(
            {
                "item": data.items["key"].to_numpy(),
                "subfield": data.items["subfield"].to_numpy(),
                "n_trials": n.astype(np.int64),
                "accuracy": share,
                "sem": sem,
                "ci_low": low,
                "ci_high": high,
            }
        )
    return Built(results, tables)


def participant_accuracy(trials: pd.DataFrame) -> Floats:
    """Share of correct trials of every participant who has trials."""
    participant = trials["participant"].to_numpy()
    n = np.bincount(participant)
    right = np.bincount(participant, weights=trials["is_correct"].to_numpy(dtype=float))
    shares: Floats = right[n > 0] / n[n > 0]
    return shares


def accuracies(data: SourceData, models: npt.NDArray[np.int64]) -> Floats:
    """(models,) share of the items that each model scored and got right."""
    shares: Floats = np.nanmean(data.model_correct[models], axis=1)
    return shares


def _humans(data: SourceData) -> HumanAccuracy:
    trials = data.need_trials()
    top = try_estimate(
        top_share, trials["item"], trials["expertise"], trials["is_correct"], TOP_SHARE
    )
    return HumanAccuracy(
        trials=proportion(trials["is_correct"]),
        n_participants=int(trials["participant"].nunique()),
        n_items=int(np.count_nonzero(data.item_counts)),
        over_participants=mean_of(participant_accuracy(trials), SHARES),
        over_items=mean_of(data.item_accuracy, SHARES),
        top_expertise=top
        if isinstance(top, MissingResult)
        else TopExpertise(**vars(top), above_p80=try_estimate(_above_p80, trials)),
    )


def _above_p80(trials: pd.DataFrame) -> ExpertTrials:
    """Raises NotEnough without a rated trial."""
    return ExpertTrials(*at_least_percentile(trials["expertise"], trials["is_correct"]))


def _model(data: SourceData, model: int) -> ModelAccuracy:
    own = data.full[data.full["model"].to_numpy() == model]
    near = own["is_near_tie"].to_numpy(dtype=bool)
    known = data.models.iloc[model]
    run = None if pd.isna(own["run"].iloc[0]) else int(own["run"].iloc[0])
    return ModelAccuracy(
        **data.model_name(model),
        is_chat=bool(known["is_chat"]),
        n_parameters=float(known["n_parameters"]),
        items=proportion(data.model_correct[model]),
        n_near_ties=int(near.sum()),
        near_tie_items=tuple(data.items["key"].iloc[own["item"].to_numpy()[near]]),
        run=None if run is None else abs(run),
        prompt="" if run is None else data.run_prompts.get(run, ""),
    )


def _models_vs_humans(data: SourceData) -> ModelsVsHumans:
    models = accuracies(data, data.need_models())
    human = float(data.need_trials()["is_correct"].mean())
    test = paired_t(models, human)
    over_items = paired_t(models, float(np.nanmean(data.item_accuracy)))
    method = (
        f"{test.method} Each model's accuracy is compared with people's accuracy over all trials. A model that is scored chooses the "
        "version with the lower perplexity (the exponential of the mean negative log-probability of a token, which is a word or part "
        "of a word), that is, the version whose words it predicts better; a tie counts half."
    )
    return ModelsVsHumans(
        test=replace(test, method=method), human_accuracy=human, t_item_means=over_items.t
    )


def _base_vs_chat(data: SourceData) -> BaseVsChat:
    models = data.need_models()
    number = {str(data.models["name"].iloc[model]): int(model) for model in models}
    partners = data.models["base_partner"].iloc[models]
    pairs = sorted(
        (number[str(base)], int(chat))
        for base, chat in zip(partners, models, strict=True)
        if str(base) in number
    )
    if not pairs:
        raise NotEnough(
            "No chat model has been scored together with its base model.",
            "Score both models of at least two such pairs.",
        )
    base, chat = (accuracies(data, np.array(side)) for side in zip(*pairs, strict=True))
    names = data.models["name"]
    return BaseVsChat(
        tuple(
            ChatPair(names.iloc[b], names.iloc[c], float(x), float(y))
            for (b, c), x, y in zip(pairs, base, chat, strict=True)
        ),
        try_estimate(paired_t, base, chat),
    )


# --- How often people and language models are right on the items of each subfield.

# Of rows: subfield, who, what carries the name, share
SUBFIELDS = (
    *c.data("subfield=0", "who=1"),
    *c.model("2"),
    *c.data("family=2.family", "n=3.n", "n_correct=3.n_correct", "accuracy=3.accuracy"),
    *c.data("sem=3.sem", "ci=3.ci95"),
)


@dataclass(frozen=True)
class ModelItems(ModelName):
    share: Proportion


@dataclass(frozen=True)
class ModelsMean:
    """`sd_ddof0`: the standard deviation with n, as the paper has it."""

    sd_ddof0: float
    over_models: Mean


@dataclass(frozen=True)
class SubfieldAccuracy:
    """None where the subfield has no data. `top_expertise`: trials at or above the subfield's 80th percentile."""

    subfield: str
    n_items: int
    share_items: float
    humans: Proportion | None
    top_expertise: ExpertTrials | None
    models_mean: ModelsMean | None
    models: tuple[ModelItems, ...]
    n_models_below_humans: int | None


@dataclass(frozen=True)
class Subfields:
    subfields: tuple[SubfieldAccuracy, ...] | MissingResult


def build_subfields(data: SourceData) -> Built:
    """Raises NotEnough with neither trials nor scores."""
    data.need_trials_or_models()
    trials = data.trials[["item", "expertise", "is_correct"]]
    item_subfield = data.items["subfield"].to_numpy()
    found, lines = [], []
    for name in pd.unique(data.items["subfield"]):
        items = item_subfield == name
        judged = trials[items[trials["item"].to_numpy()]]
        humans = proportion(judged["is_correct"]) if len(judged) else None
        correct = data.model_correct[:, items]
        models = tuple(
            ModelItems(**data.model_name(int(model)), share=proportion(correct[model]))
            for model in data.set_models
            if not np.isnan(correct[model]).all()
        )
        shares = np.array([model.share.accuracy for model in models])
        one = SubfieldAccuracy(
            subfield=str(name),
            n_items=int(items.sum()),
            share_items=float(items.mean()),
            humans=humans,
            top_expertise=present(try_estimate(_above_p80, judged)),
            models_mean=ModelsMean(float(shares.std()), mean_of(shares, SHARES))
            if models
            else None,
            models=models,
            n_models_below_humans=int((shares < humans.accuracy).sum())
            if humans and models
            else None,
        )
        found.append(one)
        # People, the people who know it best, every model
        people = (("humans", one.humans), ("top expertise", one.top_expertise and one.top_expertise.trials))  # fmt: skip
        lines += [
            (one.subfield, who, ModelName(who, who, "", ""), share)
            for who, share in people
            if share
        ]
        lines += [(one.subfield, "model", model, model.share) for model in one.models]
    return Built(Subfields(tuple(found)), {"subfields": c.tidy(SUBFIELDS, lines)})


# --- People's accuracy by the position they hold.

REST = "others, or not stated"
FEW_EACH = (
    f"No position was given by {SMALL} or more participants in the analysis.",
    f"At least {SMALL} people are needed, so that nobody can be recognised.",
)
POSITIONS = (
    c.text("Position", "position", "position"),
    c.count("Participants", "n_participants", "n_participants"),
    c.count("Trials", "trials.n", "n_trials"),
    *c.data("n_correct=trials.n_correct"),
    c.percent("Accuracy", "trials.accuracy", "accuracy"),
    *c.data("sem=trials.sem"),
    c.share_ci("95% CI", "trials.ci95", "ci_low ci_high"),
)


@dataclass(frozen=True)
class PositionAccuracy:
    position: str
    n_participants: int
    trials: Proportion


@dataclass(frozen=True)
class Positions:
    """In the questionnaire's order, then what it does not list; last REST, all positions of fewer than SMALL people."""

    positions: tuple[PositionAccuracy, ...] | MissingResult


def build_positions(data: SourceData) -> Built:
    """Raises NotEnough without trials, and where no position may be named."""
    trials = data.need_trials()
    careers = data.participants["career"].astype(str)
    participant = trials["participant"].to_numpy()
    judging = np.unique(participant)
    n_people = Counter(career for career in careers.iloc[judging] if career)
    need_several(n_people.total(), NOT_GIVEN)
    several = {career for career, n in n_people.items() if n >= SMALL}
    if not several:
        raise NotEnough(*FEW_EACH)
    held = [career if career in several else REST for career in careers]
    order = [p for p in data.position_order if p in several]
    order += [*sorted(several - {*order}), REST]
    code = np.array([order.index(position) for position in held], dtype=np.int64)
    n = np.bincount(code[participant], minlength=len(order))
    right = trials["is_correct"].to_numpy(dtype=float)
    correct = np.bincount(code[participant], weights=right, minlength=len(order))
    people = np.bincount(code[judging], minlength=len(order))
    found = tuple(
        PositionAccuracy(position, int(people[k]), proportion_of_counts(int(correct[k]), int(n[k])))
        for k, position in enumerate(order)
        if n[k]
    )
    return Built(Positions(found), {"positions": c.tidy(POSITIONS, found)})
