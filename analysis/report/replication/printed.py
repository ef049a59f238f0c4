"""What the BrainBench paper prints about its human-created test cases (Nature Human Behaviour, 2024).

Each printed number stands beside the value that is recomputed for it. `why` explains a difference that was found
before; whether there is one is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.report.chapters.flow.results import Code
from analysis.report.replication import recomputed as of
from analysis.report.replication.recomputed import Value


@dataclass(frozen=True, slots=True)
class Printed:
    """A printed number. It agrees with a recomputed one that rounds to it, or is within `tolerance` of it.

    `instead`: the value which the explanation speaks of.
    """

    section: str
    what: str
    printed: str
    value: Value
    why: str = ""
    remark: str = ""
    tolerance: float = 0.0
    instead: Value | None = None

    @property
    def decimals(self) -> int:
        return len(self.printed.partition(".")[2])

    def agrees(self, value: float) -> bool:
        """
        >>> row = Printed("", "", "0.42", lambda recomputed: None)
        >>> row.agrees(0.4249), row.agrees(0.4274)
        (True, False)
        """
        half_unit = 0.5 * 10.0**-self.decimals
        return abs(value - float(self.printed)) <= half_unit + self.tolerance + 1e-9


OVERALL, POSITIONS, AGREEMENT = "Overall accuracy", "Participants", "Agreement"
DATES, TUNING, OTHERS = "Publication date", "Fine-tuning", "Other models"

FALCON, LLAMA, GALACTICA = (
    "tiiuae/falcon-180B",
    "meta-llama/Llama-2-70b-hf",
    "facebook/galactica-120b",
)
TINY = "TinyLlama/TinyLlama"

ITEM_MEANS = "The printed t needs the mean over items of human accuracy; the printed d and interval need the accuracy over trials."
UNKNOWN_PAIRS = "No published code gives the printed values, and no subset or pooling of the six pairs was found that does."
NOT_SIGNIFICANT = (
    "The gain in accuracy itself is not significant: see the exact McNemar test in the report."
)


def _dates(name: str, label: str, rho: str, p: str) -> Sequence[Printed]:
    return (
        Printed(DATES, f"{label}: Spearman", rho, lambda r: of.date(r, name).rho),
        Printed(DATES, f"{label}: p", p, lambda r: of.date(r, name).p),
    )


VALUES: tuple[Printed, ...] = (
    Printed(OVERALL, "human accuracy", "0.634", lambda r: of.humans(r).trials.accuracy),
    Printed(
        OVERALL,
        "accuracy of the top 20% by expertise",
        "0.662",
        lambda r: of.top(r).trials.accuracy,
        remark="Depends on the order of ties in expertise, and many items contribute no trial: see the report.",
    ),
    Printed(
        OVERALL,
        "mean accuracy of the models",
        "0.814",
        lambda r: of.models_mean(r).mean,
    ),
    Printed(
        OVERALL,
        "models against humans: t",
        "25.8",
        lambda r: of.versus(r).test.t,
        ITEM_MEANS,
        instead=lambda r: of.versus(r).t_item_means,
    ),
    Printed(
        OVERALL, "models against humans: degrees of freedom", "14", lambda r: of.versus(r).test.df
    ),
    Printed(OVERALL, "models against humans: d", "9.27", lambda r: of.versus(r).test.d_av),
    Printed(
        OVERALL,
        "models against humans: interval, lower",
        "0.17",
        lambda r: of.versus(r).test.ci95[0],
    ),
    Printed(
        OVERALL,
        "models against humans: interval, upper",
        "0.20",
        lambda r: of.versus(r).test.ci95[1],
    ),
    Printed(OVERALL, "base against chat: t", "5.38", lambda r: of.chat(r).t, UNKNOWN_PAIRS),
    Printed(OVERALL, "base against chat: degrees of freedom", "5", lambda r: of.chat(r).df),
    Printed(OVERALL, "base against chat: p", "0.002", lambda r: of.chat(r).p, UNKNOWN_PAIRS),
    Printed(OVERALL, "base against chat: d", "0.77", lambda r: of.chat(r).d_av, UNKNOWN_PAIRS),
    Printed(
        OVERALL,
        "base against chat: interval, lower",
        "0.02",
        lambda r: of.chat(r).ci95[0],
        UNKNOWN_PAIRS,
    ),
    Printed(
        OVERALL,
        "base against chat: interval, upper",
        "0.04",
        lambda r: of.chat(r).ci95[1],
        UNKNOWN_PAIRS,
    ),
    Printed(POSITIONS, "participants recruited", "202", of.n_participants(Code.RECRUITED)),
    Printed(POSITIONS, "participants analysed", "171", of.n_participants(Code.ANALYSED)),
    Printed(
        POSITIONS, "trials on human-created test cases", "1011", lambda r: of.humans(r).trials.n
    ),
    *(
        Printed(POSITIONS, f"trials of: {position}", str(n), of.position(position))
        for position, n in (
            ("Predoctoral student", 104),
            ("Doctoral student", 300),
            ("Postdoctoral researcher", 255),
            ("Faculty or academic staff", 256),
            ("Research scientist", 72),
            ("Other", 24),
        )
    ),
    Printed(POSITIONS, "age in years, mean", "35.2", lambda r: float(of.people(r, "age").mean())),
    Printed(POSITIONS, "age in years, sd", "9.4", lambda r: float(of.people(r, "age").std(ddof=1))),
    Printed(
        POSITIONS,
        "experience in years, mean",
        "10.1",
        lambda r: float(of.people(r, "experience_years").mean()),
    ),
    Printed(
        AGREEMENT,
        "Spearman, model with model: mean",
        "0.75",
        lambda r: of.agreement(r).model_model_mean,
    ),
    Printed(
        AGREEMENT,
        "Spearman, model with model: sd",
        "0.08",
        lambda r: of.agreement(r).model_model_sd,
    ),
    Printed(
        AGREEMENT,
        "Spearman, model with humans: mean",
        "0.15",
        lambda r: of.agreement(r).model_human_mean,
    ),
    Printed(
        AGREEMENT,
        "Spearman, model with humans: sd",
        "0.03",
        lambda r: of.agreement(r).model_human_sd,
    ),
    *(
        row
        for name, label, rho, p in (
            (FALCON, "Falcon-180B", "0.00", "0.97"),
            (LLAMA, "Llama-2-70B", "-0.03", "0.65"),
            (GALACTICA, "Galactica-120B", "0.03", "0.65"),
        )
        for row in _dates(name, label, rho, p)
    ),
    Printed(
        TUNING,
        "Mistral-7B: gain in accuracy, percentage points",
        "3",
        of.gain,
        remark=NOT_SIGNIFICANT,
    ),
    Printed(TUNING, "perplexity of the correct version: t", "15.7", lambda r: of.change(r).t),
    Printed(
        TUNING,
        "perplexity of the correct version: degrees of freedom",
        "199",
        lambda r: of.change(r).df,
    ),
    Printed(TUNING, "perplexity of the correct version: d", "0.25", lambda r: of.change(r).d_av),
    Printed(
        TUNING,
        "perplexity of the correct version: interval, lower",
        "0.42",
        lambda r: of.change(r).ci95[0],
        "The bound rounds to 0.43; it seems to have been cut off.",
    ),
    Printed(
        TUNING,
        "perplexity of the correct version: interval, upper",
        "0.55",
        lambda r: of.change(r).ci95[1],
    ),
    Printed(OTHERS, "TinyLlama, accuracy", "0.705", of.further_model(f"{TINY}_v1.1")),
    Printed(
        OTHERS,
        "TinyLlama (chat), accuracy",
        "0.655",
        of.further_model(f"{TINY}-1.1B-Chat-v1.0"),
        "The printed share is that of one correct test case more than the published perplexities give.",
    ),
    Printed(
        OTHERS,
        "Phi-3, accuracy",
        "0.825",
        of.further_model("microsoft/Phi-3-mini-4k-instruct"),
    ),
    Printed(
        OTHERS,
        "GPT-2 from scratch, accuracy",
        "0.63",
        of.further_model("gpt2_scratch_neuro_tokenizer"),
        remark="125 of 200 are 0.625: printed rounded.",
    ),
    Printed(
        OTHERS,
        "GPT-2 large from scratch, accuracy",
        "0.72",
        of.further_model("gpt2-large_scratch_neuro_tokenizer"),
    ),
)
