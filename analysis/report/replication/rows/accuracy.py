"""Accuracy: of people and models, by subfield and position, and of further models."""

from collections.abc import Callable
from functools import partial

from analysis.report.replication import places
from analysis.report.replication import recomputed as of
from analysis.report.replication.recomputed import Recomputed
from analysis.report.replication.row import Printed, Relation, Remark, Why
from analysis.report.replication.rows.again import on_machine_created

SUBFIELD_ITEMS = (
    ("Behavioral/Cognitive", "75"),
    ("Systems/Circuits", "51"),
    ("Neurobiology of Disease", "25"),
    ("Cellular/Molecular", "25"),
    ("Development/Plasticity/Repair", "24"),
)
POSITION_TRIALS = (
    ("Predoctoral student", "104"),
    ("Doctoral student", "300"),
    ("Postdoctoral researcher", "255"),
    ("Faculty or academic staff", "256"),
    ("Research scientist", "72"),
    ("Other", "24"),
)
N_MODELS = "15"
TINY = "TinyLlama/TinyLlama"
GPT_2 = (
    ("gpt2_scratch_neuro_tokenizer", "GPT-2 124M", "124", "63", Remark.HALF),
    ("gpt2-medium_scratch_neuro_tokenizer", "GPT-2 355M", "355", "", None),
    ("gpt2-large_scratch_neuro_tokenizer", "GPT-2 774M", "774", "72", None),
)


def _percent(value: Callable[[Recomputed], float]) -> Callable[[Recomputed], float]:
    return lambda r: 100 * value(r)


def _sd(r: Recomputed) -> float:
    """Of the models' accuracies."""
    return of.known(of.models_mean(r).sd, "second model")


def _n_items(r: Recomputed, name: str) -> float:
    return of.subfield(r, name).n_items


def _n_trials(r: Recomputed, name: str) -> float:
    return of.position(r, name).trials.n


def _position_accuracy(r: Recomputed, name: str) -> float:
    return of.position(r, name).trials.accuracy


TOP_SHARE = Printed(
    place=places.OVERALL,
    what="share of trials that are the top by expertise, percent",
    printed="20",
    value=_percent(lambda r: of.top(r).share),
)
OVERALL = (
    Printed(
        place=places.OVERALL,
        what="accuracy of people, percent",
        printed="63.4",
        value=_percent(lambda r: of.humans(r).trials.accuracy),
    ),
    Printed(
        place=places.OVERALL,
        what="accuracy of the top 20% by expertise, percent",
        printed="66.2",
        value=_percent(lambda r: of.top(r).trials.accuracy),
        remark=Remark.TIES,
    ),
    TOP_SHARE,
    Printed(
        place=places.OVERALL,
        what="accuracy of models, mean, percent",
        printed="81.4",
        value=_percent(lambda r: of.known(of.models_mean(r).mean, "model")),
    ),
    Printed(
        place=places.OVERALL,
        what="accuracy of models, sd, percentage points",
        printed="3",
        value=_percent(_sd),
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: t",
        printed="25.8",
        value=lambda r: of.versus(r).test.t,
        why=Why.ITEM_MEANS,
        instead=lambda r: of.versus(r).t_item_means,
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: degrees of freedom",
        printed="14",
        value=lambda r: of.versus(r).test.df,
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: p",
        printed="0.001",
        relation=Relation.BELOW,
        value=lambda r: of.versus(r).test.p,
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: d",
        printed="9.27",
        value=lambda r: of.versus(r).test.d_av,
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: interval, lower",
        printed="0.17",
        value=lambda r: of.versus(r).test.ci95[0],
    ),
    Printed(
        place=places.OVERALL,
        what="models against people: interval, upper",
        printed="0.20",
        value=lambda r: of.versus(r).test.ci95[1],
    ),
    *(
        Printed(
            place=places.OVERALL,
            what=f"base against chat: {what}",
            printed=printed,
            value=value,
            why=Why.UNKNOWN_PAIRS,
        )
        for what, printed, value in (
            ("t", "5.38", lambda r: of.chat(r).t),
            ("degrees of freedom", "5", lambda r: of.chat(r).df),
            ("p", "0.002", lambda r: of.chat(r).p),
            ("d", "0.77", lambda r: of.chat(r).d_av),
            ("interval, lower", "0.02", lambda r: of.chat(r).ci95[0]),
            ("interval, upper", "0.04", lambda r: of.chat(r).ci95[1]),
        )
    ),
)
SUBFIELDS = tuple(
    row
    for name, n in SUBFIELD_ITEMS
    for row in (
        Printed(
            place=places.SUBFIELDS,
            what=f"{name}: test cases",
            printed=n,
            value=partial(_n_items, name=name),
        ),
        Printed(
            place=places.SUBFIELDS,
            what=f"{name}: accuracy of people, percent",
            value=_percent(partial(of.subfield_people, name=name)),
        ),
        Printed(
            place=places.SUBFIELDS,
            what=f"{name}: accuracy of models, mean, percent",
            value=_percent(partial(of.subfield_models, name=name)),
        ),
    )
)
POSITIONS = tuple(
    row
    for name, n in POSITION_TRIALS
    for row in (
        Printed(
            place=places.POSITIONS,
            what=f"{name}: trials",
            printed=n,
            value=partial(_n_trials, name=name),
        ),
        Printed(
            place=places.POSITIONS,
            what=f"{name}: accuracy, percent",
            value=_percent(partial(_position_accuracy, name=name)),
        ),
    )
)
# The paper says: every model, in every subfield
CELLS = tuple(
    Printed(
        place=places.CELLS,
        what=f"{name}: models above people, of {N_MODELS}",
        printed=N_MODELS,
        value=partial(of.n_models_above, name=name),
    )
    for name, _ in SUBFIELD_ITEMS
)


def _further(
    name: str, what: str, printed: str, why: Why | None = None, remark: Remark | None = None
) -> Printed:
    return Printed(
        place=places.OTHERS,
        what=f"{what}: accuracy, percent",
        printed=printed,
        value=_percent(lambda r: of.further_model(r, name).items.accuracy),
        why=why,
        remark=remark,
    )


def _millions(name: str, what: str, printed: str) -> Printed:
    return Printed(
        place=places.OTHERS,
        what=f"{what}: parameters, millions",
        printed=printed,
        value=lambda r: of.further_model(r, name).n_parameters / 1e6,
        remark=Remark.CATALOGUE,
    )


ROWS: tuple[Printed, ...] = (
    *OVERALL,
    *SUBFIELDS,
    *POSITIONS,
    *CELLS,
    *(
        row
        for name, what, millions, printed, remark in GPT_2
        for row in (
            _millions(name, f"{what} from scratch", millions),
            _further(name, f"{what} from scratch", printed, remark=remark),
        )
    ),
    _further(f"{TINY}_v1.1", "TinyLlama", "70.5"),
    _further(f"{TINY}-1.1B-Chat-v1.0", "TinyLlama (chat)", "65.5", Why.ONE_MORE),
    _further("microsoft/Phi-3-mini-4k-instruct", "Phi-3", "82.5"),
    *on_machine_created(OVERALL, places.MACHINE_OVERALL),
    *on_machine_created(SUBFIELDS, places.MACHINE_SUBFIELDS),
    *on_machine_created(POSITIONS, places.MACHINE_POSITIONS),
    *on_machine_created(CELLS, places.MACHINE_CELLS),
)
