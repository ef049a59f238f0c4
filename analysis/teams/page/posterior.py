"""The numbers of a Bayesian fit as rows of a table, on a page and as text."""

from django.utils.text import capfirst

from analysis.teams.results import BayesianAbout, MemberKind, Posterior, Quantity
from lib import formatting as f

MAIN = (Quantity.SENSITIVITY, Quantity.CORRELATION)


def posterior_rows(fit: BayesianAbout, *, is_main: bool = False) -> list[tuple[str, str, str]]:
    """Quantity, mean and 95% interval; `is_main`: sensitivities and correlations alone."""
    return [
        (capfirst(fit.parameters[name]), _number(one, one.mean), _interval(one))
        for name, one in fit.posterior.items()
        if not is_main or one.quantity in MAIN
    ]


def _number(one: Posterior, value: float) -> str:
    if one.quantity == Quantity.ACCURACY:
        return f.percent(value)
    return f.compact(value) if one.quantity == Quantity.SCALE else f.number(value)


def _interval(one: Posterior) -> str:
    low, high = one.ci95
    return f"{_number(one, low)} to {_number(one, high)}"


def explained(fit: BayesianAbout) -> dict[str, bool]:
    """Which of the table's words need an explanation."""
    found = {(one.quantity, MemberKind.MODEL in one.member_kinds) for one in fit.posterior.values()}
    quantities = {quantity for quantity, _ in found}
    return {
        "has_sensitivity": Quantity.SENSITIVITY in quantities,
        "has_correlation": Quantity.CORRELATION in quantities,
        "has_model_accuracy": (Quantity.ACCURACY, True) in found,
        "has_power": Quantity.POWER in quantities,
    }
