"""The tables of the chapter on advice, on its page and in its files: the codes in them, what readers call these, and the columns."""

from analysis import columns as c
from analysis.presentation import Table
from analysis.stats.reliance.moderators import (
    ADVICE_RIGHT,
    EXPERTISE,
    INTERCEPT,
    LEARNING,
    OWN,
    POSITION,
    Effect,
    Moderators,
)
from analysis.stats.reliance.moderators import ADVISER as ADVISERS
from analysis.stats.reliance.trials import AFTER, BEFORE, NONE
from analysis.teams.domain.advised import ADVISER
from analysis.teams.results import Method
from lib import formatting as f

PROCEDURE_NAMES = {
    NONE: "none",
    AFTER: "after a first answer",
    BEFORE: "before any answer",
}
# Who decides, on the same trials
FIRST, FINAL = "first", "final"
DECIDERS = {
    FIRST: "People before advice",
    ADVISER: "Adviser alone",
    FINAL: "People after advice",
    Method.LOGISTIC.value: "Computed team, logistic",
    Method.BAYESIAN.value: "Computed team, Bayesian",
}
WHEN = {FIRST: "before advice", FINAL: "after advice"}
# Code of a measure of reliance: what readers call it
MEASURES = {
    "agreement": "Agreement with the advice",
    "switching": "Switching to advice that differs",
    "rair": "Relative AI reliance (RAIR)",
    "rsr": "Relative self-reliance (RSR)",
    "overreliance": "Overreliance",
    "underreliance": "Underreliance",
    "slope": "Weight of advice on confidence",
    "limited": "Weight of advice, limited to 0 to 1 (above 0 also if advice does nothing)",
    "d_prime": "Sensitivity, d'",
    "criterion": "Criterion, c",
    "d_prime_differ": "Sensitivity where answers differ, d'",
    "criterion_differ": "Criterion where answers differ, c",
}
# Questions of which the chapter concludes something, and have an equal share of the 5%. Both models of accuracy describe.
ARMS, WEIGHT, OVERCONFIDENCE, SWITCHING, MOST_ACCURATE = QUESTIONS = (
    "arms",
    "weight",
    "overconfidence",
    "switching",
    "deciders",
)
QUESTION_NAMES = {
    ARMS: "Do arms differ in accuracy?",
    WEIGHT: "Does advice move confidence?",
    OVERCONFIDENCE: "Does advice change overconfidence?",
    SWITCHING: "On what does switching depend?",
    MOST_ACCURATE: "Whose decisions are the most accurate?",
}
EFFECT_NAMES = {
    INTERCEPT: "Intercept",
    ADVICE_RIGHT: "Right advice, against wrong",
    OWN: "Own confidence, per SD",
    ADVISERS: "Adviser's confidence, per SD",
    EXPERTISE: "Expertise, per SD",
    POSITION: "Position of the trial, per SD",
    LEARNING: "Right advice x position",
    f"{ADVICE_RIGHT} x {OWN}": "Right advice x own confidence",
    f"{ADVICE_RIGHT} x {ADVISERS}": "Right advice x adviser's confidence",
}

CONDITIONS = (
    c.text("Arm", "name", "condition"),
    *c.data("arm"),
    c.text("Advice", lambda row: PROCEDURE_NAMES[row.procedure]),
    *c.data("procedure"),
    c.count("People", "n_participants", "n_participants"),
    c.count("Trials", "n_trials", "n_trials"),
    c.percent("Right before", "before.value", "before"),
    c.share_ci("95% CI", "before.ci95", "before_low before_high"),
    c.percent("Right after", "after.value", "after"),
    c.share_ci("95% CI", "after.ci95", "after_low after_high"),
    c.points("Change, points", "change.value", "change"),
    c.points_ci("95% CI", "change.ci95", "change_low change_high"),
    *c.data("change_p=change.p", "seconds_before=seconds_before.seconds"),
    c.number("Seconds per trial", "seconds.seconds", "seconds", digits=1),
)
COMPARISONS = (
    c.text("Arm", "name", "condition"),
    c.text("Against", "reference", "reference"),
    c.points("Difference, points", "accuracy.value", "difference"),
    c.points_ci("95% CI", "accuracy.ci95", "difference_low difference_high"),
    c.p_value("p", "accuracy.p", "p"),
    c.p_value("p (Holm)", "p_holm", "p_holm"),
    c.number("Ratio of times", "time.ratio", "time_ratio"),
    c.ci("95% CI", "time.ci95", "time_ratio_low time_ratio_high"),
)
# Of rows: Analysis, Contrast
ANALYSES = (
    *c.data("analysis=0.code"),
    c.text("Analysis", "0.what", "what"),
    c.text("Arm", "1.name", "condition"),
    c.text("Against", "1.reference", "reference"),
    c.count("People", "1.accuracy.n_participants", "n_participants"),
    c.count("Trials", "1.accuracy.n", "n_trials"),
    c.points("Difference, points", "1.accuracy.value", "difference"),
    c.points_ci("95% CI", "1.accuracy.ci95", "difference_low difference_high"),
    c.p_value("p", "1.accuracy.p", "p"),
    c.p_value("p (Holm)", "1.p_holm", "p_holm"),
    *c.data("verdict=1.verdict"),
)
# Of rows: condition, Measure
RELIANCE = (
    c.text("Arm", "0", "condition"),
    c.text("Measure", lambda row: MEASURES[row[1].code]),
    *c.data("measure=1.code"),
    c.count("Trials", "1.n", "n"),
    c.shown("Value", lambda row: row[1].shown),
    c.shown("95% CI", lambda row: row[1].shown_interval),
    c.p_value("p (Holm)", "1.p_holm", "p_holm"),
    *c.data("value=1.value", "ci=1.ci95"),
)
# Of rows: condition, FlowCell
FLOW = c.data(
    "condition=0",
    "is_first_right=1.is_first_right",
    "is_advice_right=1.is_advice_right",
    "is_kept=1.is_kept",
    "is_final_right=1.is_final_right",
    "n=1.n",
    "share=1.share",
)
# Of rows: condition, before or after, Rated, p_holm of the change
CALIBRATIONS = (
    c.text("Arm", "0", "condition"),
    c.text("Answers", lambda row: WHEN[row[1]]),
    *c.data("answers=1"),
    c.count("n", "2.error.n", "n"),
    c.percent("Confidence as probability", "2.mean_probability", "mean_probability"),
    c.percent("Right", "2.accuracy", "accuracy"),
    c.points("Overconfidence, points", "2.overconfidence.value", "overconfidence"),
    c.points_ci("95% CI", "2.overconfidence.ci95", "overconfidence_low overconfidence_high"),
    c.number("Brier score", "2.brier.value", "brier", digits=3),
    c.ci("95% CI", "2.brier.ci95", "brier_low brier_high", digits=3),
    c.number("Calibration error", "2.error.value", "ece", digits=3),
    c.ci("95% CI", "2.error.ci95", "ece_low ece_high", digits=3),
    c.p_value("p of the change of overconfidence (Holm)", "3", "change_p_holm"),
)
DECISIONS = (
    c.text("Who decides", lambda row: DECIDERS[row.code]),
    *c.data("decider=code"),
    c.count("Trials", "accuracy.n", "n"),
    c.percent("Right", "accuracy.value", "accuracy"),
    c.share_ci("95% CI", "accuracy.ci95", "accuracy_low accuracy_high"),
    c.points(
        "Difference: people after advice minus this decider, points",
        "versus_final.value",
        "final_minus",
    ),
    c.points_ci("95% CI", "versus_final.ci95", "final_minus_low final_minus_high"),
    c.p_value("p", "versus_final.p", "p"),
    c.points("Most accurate decider minus this one, points", "best_minus.value", "best_minus"),
    c.points_ci("95% CI", "best_minus.ci95", "best_minus_low best_minus_high"),
    c.p_value("p (Holm)", "p_holm", "best_minus_p_holm"),
)
TESTS = (
    c.text("Question", lambda row: QUESTION_NAMES[row.name]),
    *c.data("question=name"),
    c.count("Tests", "n_tests", "n_tests"),
    c.count("Clear", "n_clear", "n_clear"),
    c.p_value("Smallest p (Holm)", "smallest_p", "smallest_p"),
)
REALISED = (
    c.text("Computed team", lambda row: DECIDERS[row.method.value]),
    *c.data("method"),
    c.points("Real gain, points", "realised.real.value", "real_gain"),
    c.points_ci("95% CI", "realised.real.ci95", "real_gain_low real_gain_high"),
    c.points("Computed gain, points", "realised.computed.value", "computed_gain"),
    c.points_ci("95% CI", "realised.computed.ci95", "computed_gain_low computed_gain_high"),
    c.percent("Share realised", "realised.share", "share"),
    c.share_ci("95% CI", "realised.share_ci95", "share_low share_high"),
)
# Of rows: model, Effect
EFFECTS = c.data(
    "model=0",
    "effect=1.name",
    "estimate=1.estimate",
    "se=1.slope.se",
    "df=1.slope.df",
    "ci=1.slope.ci95",
    "p=1.slope.p",
    "holm_p=1.holm_p",
    "verdict=1.verdict",
    "separates=1.separates",
)


def effect_name(effect: Effect) -> str:
    """Names of arms stand for themselves."""
    if effect.name in EFFECT_NAMES:
        return EFFECT_NAMES[effect.name]
    start = f"{ADVICE_RIGHT} x "
    if effect.name.startswith(start):
        return f"Right advice x {effect.name.removeprefix(start)}"
    return effect.name


def effects_table(caption: str, model: Moderators) -> list[Table]:
    """Tables of a model's effects; corrected p values where the chapter concludes from it."""
    is_corrected = any(one.verdict for one in model.effects)
    separated = " (complete separation)"
    columns = (
        c.text("Effect", lambda one: effect_name(one) + (separated if one.separates else "")),
        c.number("Log-odds", "estimate"),
        c.ci("95% CI", "slope.ci95"),
        c.p_value("p", "slope.p"),
        *([c.p_value("p (Holm)", "holm_p")] if is_corrected else ()),
    )
    n = f.count(model.n_trials, "trial")
    return c.page_table(f"{caption} ({n})", columns, model.effects, "advised_effects")
